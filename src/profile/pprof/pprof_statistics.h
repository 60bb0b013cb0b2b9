// SPDX-License-Identifier: Apache-2.0
// The exact statistics of a memprof profile, which travel in comments and labels: parsed, tied to their
// stacks, and believed only where they agree with the values that every viewer shows.  (Other tools filter,
// scale, merge and subtract profiles; they keep comments as they are.)
//
// Format: docs/profile-format.md.
// Threads: plain values.
// Failure: a comment that cannot be read is as if it were not there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

class StatisticsReader {
 public:
  // One comment of the file.  Fills the facts of `profile` from "#memprof.profile"; keeps "#memprof.stack"
  // for apply(); puts others for people into Profile::comments.
  void comment(std::string_view text, Profile& profile);

  // Gives statistics to the stacks whose `values` and `parts` agree with their comment and labels; their
  // parts become live groups.  Call once, when all stacks are there; samples_of[i] is the number of samples
  // that were summed into stacks[i] and so the most units that rounding can be off.  Stacks that have one
  // comment are united.
  void apply(Profile& profile, std::vector<uint32_t> samples_of) const;

 private:
  struct StackFacts {
    Walk walk = Walk::kRoot;
    Totals allocated;
    Totals freed;
    Totals peak;
    double lifetime_ns = 0;
    std::vector<Lifetime> lifetimes;
  };

  bool apply_to(Stack& stack, const Profile& profile, uint64_t id, uint32_t samples) const;

  std::unordered_map<uint64_t, StackFacts> stacks_;  // by StackId
  bool has_profile_comment_ = false;
};

// For each location what StackId takes of it (format/comments.h).
std::vector<uint64_t> location_keys(const Profile& profile);

}  // namespace memprof::profile
