// SPDX-License-Identifier: Apache-2.0
// What processes had allocated, by stack, at their last look that was put into the spool: increments are since then.
//
// Model: whole numbers, whose sum over all stacks is what `memprof report` says, to the byte.  Differences of them add up
// to the last total, exactly; differences of estimates, each rounded, would not.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profile/model/model.h"

namespace memprof::cli {

struct AllocTotals {
  int64_t objects = 0;
  int64_t bytes = 0;
};

using StackTotals = std::unordered_map<uint64_t, AllocTotals>;  // by the id of a stack

// Makes of what a profile says was allocated what was allocated since `before`, and puts there what is to be known the
// next time.  The profile becomes one of plain numbers, without statistics.  Returns the sum of the increments.
//
// A profile that has less than before is of a profiler that was started anew: all of it is an increment.  A single stack
// that has less has an increment of 0, until it has more.  Call it before anything changes the profile's statistics.
AllocTotals take_increment(StackTotals* before, profile::Profile* profile);

// Without what is as of a moment: of a process that has ended it is nothing.
void drop_levels(profile::Profile* profile);

// The processes of one set of labels.
struct Baseline {
  int64_t time_ms = 0;                           // of the look; since 1970
  std::map<std::string, StackTotals> processes;  // by the name of the arena
};

std::string encode(const Baseline& baseline);
// Nothing: it is damaged, or of another version.
std::optional<Baseline> decode_baseline(std::string_view bytes);

}  // namespace memprof::cli
