// SPDX-License-Identifier: Apache-2.0
// One look at the processes that have one set of labels: what they hold, and what they allocated since the look before,
// as one profile as it is shipped.
//
// Model: of a group that KnownStacks knows only the values of stacks are read, and names of those that are new; of
// others the profiles of all processes are added up, and become what is shipped together.
//
// Threads: one command's own.
// Failure: throws profile::Error or Failure where a process cannot be read; it is not in the look then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "memprof/ship/looks/alloc_totals.h"
#include "memprof/ship/looks/known_stacks.h"
#include "memprof/ship/looks/shipped_process.h"
#include "profile/compare/merge.h"
#include "profile/model/model.h"

namespace memprof::cli {

class GroupLook {
 public:
  // `labels`: their hash.
  GroupLook(KnownStacks& known, std::string labels);

  // A process that runs; `before` as take_increment() has it.  Returns what it allocated since.
  AllocTotals add(const ShippedProcess& process, StackTotals* before);
  // A profile of a process, with names; `has_levels`: what it holds counts.
  AllocTotals add(profile::Profile profile, StackTotals* before, bool has_levels);

  profile::Profile take();

  // Processes of which only the values of stacks were read, and stacks of them that were new, and got names.
  size_t known_processes() const { return met_.size(); }
  size_t new_stacks() const { return new_stacks_; }

 private:
  void add_rows(const std::vector<uint32_t>& rows, const std::vector<StackLook>& stacks, bool has_levels);

  KnownStacks& known_;
  const std::string labels_;
  KnownGroup* const group_;  // nullptr: looked at as a whole
  profile::Merger merger_{profile::Processes::kAddedUp};
  uint64_t rate_bytes_ = 0;
  std::vector<uint32_t> rows_;
  std::vector<profile::MetricValues> values_;        // of rows_
  std::unordered_map<uint32_t, uint32_t> place_of_;  // by row: its place in rows_
  std::map<std::string, KnownProcess> met_;
  size_t new_stacks_ = 0;
};

}  // namespace memprof::cli
