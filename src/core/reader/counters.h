// SPDX-License-Identifier: Apache-2.0
// A reading of an arena's counters (capi/include/memprof.h, memprof_stats, says what each means).
#pragma once

#include <cstdint>

#include "core/arena/arena.h"
#include "core/tables/stack_table.h"
#include "format/counters.h"
#include "format/walk.h"

namespace memprof {

enum class State : uint32_t { kUninitialized = 0, kInitialized, kActive, kStopped, kTerminated };

// Of one runtime (core/arena/statistics.h, RuntimeFacts).
struct RuntimeCounters {
  uint32_t version;
  uint32_t objects;
  uint32_t stacks;
};

// Those of format/counters.h.  hooks: MEMPROF_HOOKS_*.
struct Counters {
  State state;
#define MEMPROF_MEMBER(name, ...) uint64_t name;
  MEMPROF_COUNTERS(MEMPROF_MEMBER, MEMPROF_MEMBER, MEMPROF_NO_FACT)
#undef MEMPROF_MEMBER
  uint64_t walks[kWalkReasons];
  RuntimeCounters runtimes[kMaxRuntimes];  // of ids from 1 on
};

// Reads them one by one, relaxed, while writers go on.  Believes nothing: any bytes will do.  Samples, frames
// and walks are summed over the `stack_count` entries of the stack table: a line of cache each.
Counters read_counters(const ArenaHeader& header, const StackEntry* stacks, uint64_t stack_count);

}  // namespace memprof
