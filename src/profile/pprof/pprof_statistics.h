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
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/files/read_budget.h"
#include "profile/model/model.h"
#include "profile/pprof/packed_statistics.h"

namespace memprof::profile {

// What a "#memprof.stack" comment says; nothing: the text is none, or damaged.
std::optional<IdentifiedStatistics> statistics_from_comment(std::string_view text);

// A merge of profiles, or stacks that differ only in why their walk ended.
void add_statistics(const StackStatistics& more, StackStatistics* sum);

class StatisticsReader {
 public:
  // `budget`: for what comments make it hold; nullptr: there is no limit.
  explicit StatisticsReader(ReadBudget* budget = nullptr) : budget_(budget) {}

  // One comment of the file.  Fills the facts of `profile` from "#memprof.profile"; keeps "#memprof.stack"
  // and "#memprof.stacks" for apply(), until which the text must stay; puts others for people into Profile::comments.
  void comment(std::string_view text, Profile& profile);

  // Gives statistics to the stacks whose `values` and `parts` agree with their comment and labels; their
  // parts become live groups.  Call once, when all stacks are there; samples_of[i] is the number of samples
  // that were summed into stacks[i] and so the most units that rounding can be off.  Stacks that have one
  // comment are united.
  void apply(Profile& profile, std::vector<uint32_t> samples_of) const;

 private:
  using Packed = std::multimap<unsigned, std::string_view>;

  // Which stacks have statistics in comments, which are theirs then.
  std::vector<bool> take_statistics(Profile& profile, std::vector<uint32_t>* samples_of) const;
  static bool accept(Stack& stack, uint64_t rate_bytes, uint32_t samples);

  std::vector<IdentifiedStatistics> stacks_;  // of "#memprof.stack"
  Packed packed_;                             // the comments "#memprof.stacks" by the bits of their ids
  bool has_profile_comment_ = false;
  bool has_resident_ = false;
  ReadBudget* budget_;
};

}  // namespace memprof::profile
