// SPDX-License-Identifier: Apache-2.0
// What processes had allocated, by stack, at their last look that was put into the spool: increments are since then.
//
// Model: whole numbers, whose sum over all stacks is what `memprof report` says, to the byte.  Differences of them add up
// to the last total, exactly; differences of estimates, each rounded, would not.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/model/model.h"

namespace memprof::cli {

struct AllocTotals {
  int64_t objects = 0;
  int64_t bytes = 0;
};

using StackTotals = std::unordered_map<uint64_t, AllocTotals>;  // by the id of a stack

// What a look has of a stack: whole numbers.
struct StackLook {
  uint64_t id = 0;  // profile/pprof/ids/stack_ids.h
  profile::MetricValues values{};
};
using MetricSums = std::array<int64_t, profile::kMetricCount>;

// Makes of what a look says was allocated what was allocated since `before`, and puts there what is to be known the
// next time.  `sums`: of all stacks, rounded once, which those of the stacks become.  Of stacks of one id the first gets
// what all have.  Returns the sum of the increments.
//
// A look that has less than before is of a profiler that was started anew: all of it is an increment.  A single stack
// that has less has an increment of 0, until it has more.
AllocTotals take_increment(StackTotals* before, const MetricSums& sums, std::vector<StackLook>* stacks);

// The same of a profile, which becomes one of plain numbers, without statistics.  Call it before anything changes these.
AllocTotals take_increment(StackTotals* before, profile::Profile* profile);

// Without what is as of a moment: of a process that has ended it is nothing.
void drop_levels(profile::MetricValues* values);

// The processes of one set of labels.
struct Baseline {
  int64_t time_ms = 0;                           // of the look; since 1970
  std::map<std::string, StackTotals> processes;  // by the name of the arena
};

std::string encode(const Baseline& baseline);
// Nothing: it is damaged, or of another version.
std::optional<Baseline> decode_baseline(std::string_view bytes);

}  // namespace memprof::cli
