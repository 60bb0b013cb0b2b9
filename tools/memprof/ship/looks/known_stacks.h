// SPDX-License-Identifier: Apache-2.0
// The stacks that earlier looks met, named and folded as they are shipped, so that a later look has only their values to
// read.
//
// Model: a row is a stack as it is shipped; all groups of processes share them.  A group (the processes with one set of
// labels) is known once a whole look at it has said which functions only forward to the allocator (Forwarders), which a
// single stack does not tell; after kLooks looks that is asked anew.  A process's stacks are rows by their keys, as
// long as the modules that it had are where they were.
// docs/decisions/0162-looks-by-known-stacks.md has the costs.
//
// Threads: one command's own.
// Memory: bounded; what finds no room is looked at as a whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/hash.h"
#include "profile/compare/merge.h"
#include "profile/model/model.h"
#include "profile/names/forwarders.h"

namespace memprof::cli {

struct KnownProcess {
  size_t module_count = 0;
  uint64_t modules = Fnv1a().value();  // ArenaStacks::modules_hash() of so many
  struct Stack {
    uint64_t id;
    uint32_t row;
  };
  std::unordered_map<uint64_t, Stack> stacks;  // by ArenaStacks::Stack::key
};

struct KnownGroup {
  std::shared_ptr<const profile::Forwarders> forwarders;
  std::array<bool, profile::kMetricCount> has_metric{};
  size_t looks = 0;                               // since it was begun
  bool is_read_whole = false;                     // a process has stacks whose keys do not last
  std::map<std::string, KnownProcess> processes;  // by ShippedProcess::arena
};

class KnownStacks {
 public:
  static constexpr size_t kLooks = 60;
  static constexpr size_t kMaxCells = 3'000'000;  // locations of rows, and kRowCells for each row: some 40 MB

  // `max_cells`: for tests.
  explicit KnownStacks(size_t max_cells = kMaxCells) : max_cells_(max_cells) {}

  // Before a look at all groups: forgets those that the last one did not meet, and everything where it has become too much.
  void begin_look();
  // Of a set of labels; nullptr: look at it as a whole, and begin().
  KnownGroup* find(const std::string& labels);
  // After a look at all of a group: `profile` is the sum of its processes, with the names of all code.
  void begin(const std::string& labels, const profile::Profile& profile,
             std::shared_ptr<const profile::Forwarders> forwarders);

  // The rows of the profile's stacks, which have names.
  std::vector<uint32_t> rows_of(profile::Profile profile, const KnownGroup& group);
  // A profile of these rows, with their values: of what both have as the same index.
  profile::Profile profile_of(const std::vector<uint32_t>& rows,
                              const std::vector<profile::MetricValues>& values);

 private:
  static constexpr size_t kRowCells = 64;  // a Stack without locations takes so much more than one of them

  void forget();

  struct Group : KnownGroup {
    bool is_met = true;  // by this look
  };

  const size_t max_cells_;
  size_t cells_ = 0;
  size_t rest_ = 0;  // so many looks are as a whole: there was more than is kept
  std::unique_ptr<profile::Merger> rows_ = std::make_unique<profile::Merger>(profile::Processes::kAddedUp);
  std::map<std::string, Group> groups_;
};

}  // namespace memprof::cli
