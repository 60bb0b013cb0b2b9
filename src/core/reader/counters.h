// SPDX-License-Identifier: Apache-2.0
// A reading of an arena's counters (capi/include/memprof.h, memprof_stats, says what each means).
#pragma once

#include <cstdint>

#include "core/tables/arena.h"
#include "core/tables/stack_table.h"
#include "platform/imports.h"
#include "platform/stack.h"

namespace memprof {

enum class State : uint32_t { kUninitialized = 0, kInitialized, kActive, kStopped, kTerminated };

// Of one runtime (core/tables/statistics.h, RuntimeFacts).
struct RuntimeCounters {
  uint32_t version;
  uint32_t objects;
  uint32_t stacks;
};

struct Counters {
  State state;
  uint64_t rate_bytes;
  uint64_t samples, live_samples, freed_samples;
  uint64_t dropped_weight_bytes, dropped_live_table, dropped_stack_table, replaced_samples;
  uint64_t stacks, modules, frames;
  uint64_t walks[platform::kWalkReasons];
  uint64_t min_depth, cold_paths, filter_saturated, muted_bytes;
  uint64_t folded_stacks, thinned_samples;
  uint64_t arena_bytes, arena_used_bytes;
  uint64_t live_weight_bytes, peak_weight_bytes;
  uint64_t hooks;  // MEMPROF_HOOKS_*
  platform::Imports imports;
  RuntimeCounters runtimes[kMostRuntimes];  // of ids from 1 on
};

// Reads them one by one, relaxed, while writers go on.  Believes nothing: any bytes will do.  Samples, frames
// and walks are summed over the `stack_count` entries of the stack table: a line of cache each.
Counters read_counters(const ArenaHeader& header, const StackEntry* stacks, uint64_t stack_count);

}  // namespace memprof
