// SPDX-License-Identifier: Apache-2.0
// The counters of a profiler, in its arena.  format/counters.h lists them, capi/include/memprof.h says what each
// means.  What follows from others is not counted (core/reader/counters.cc): each counter is a locked instruction
// in every sample.
//
// Threads: every counter is written by the cold paths of all threads with relaxed read-modify-writes and read
// relaxed; they order nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/counters.h"
#include "format/runtime_frame.h"
#include "platform/stack.h"

namespace memprof {

inline constexpr uint64_t kHooksNone = 0;
inline constexpr uint64_t kHooksInterposed = 1;
inline constexpr uint64_t kHooksImports = 2;

// What a language runtime in the process says of itself.
struct RuntimeFacts {
  // Its version (major << 8 | minor; 0: unknown) in the high half, MEMPROF_OBJECTS_* in the low one.
  std::atomic<uint64_t> version_and_objects;
  std::atomic<uint64_t> stacks;  // MEMPROF_STACKS_*
};

// Those that files of version 6 have, FIRST in the list, and what others are derived from.  Their places are
// fixed.
struct Statistics {
  std::atomic<uint64_t> dropped_weight_bytes;
  std::atomic<uint64_t> dropped_live_table;
  std::atomic<uint64_t> dropped_stack_table;
  std::atomic<uint64_t> replaced_samples;
  // Of samples whose stack is not in the stack table; the others' follow from their stacks.
  std::atomic<uint64_t> frames;
  std::atomic<uint64_t> walks[platform::kWalkReasons];
  std::atomic<uint64_t> min_depth_plus_one;  // 0: no walk yet
  std::atomic<uint64_t> unrecorded_events;   // a clock ran out, and no sample came of it
  std::atomic<uint64_t> filter_saturated;
  std::atomic<uint64_t> muted_bytes;
  // Sums of the weights of live samples, each rounded so that what is added is what is taken away again.
  std::atomic<uint64_t> live_weight_bytes;
  std::atomic<uint64_t> peak_weight_bytes;
  std::atomic<uint64_t> hooks;  // MEMPROF_HOOKS_*
  // Import tables (platform/imports.h, Imports), stored by whoever looked at them last.
  std::atomic<uint64_t> import_modules;
  std::atomic<uint64_t> import_patched;
  std::atomic<uint64_t> import_refused;
  std::atomic<uint64_t> import_foreign;
  std::atomic<uint64_t> import_unbound;
  RuntimeFacts first_runtime;  // of id 1; those after it: ArenaHeader::later_runtimes
};

// Those that files have from version 8 on, LATER in the list, each in the place that it has in the list of these.
// What an older writer did not know is 0.
struct LaterStatistics {
#define MEMPROF_FIRST(name)
#define MEMPROF_DERIVED(name)
#define MEMPROF_LATER(name) std::atomic<uint64_t> name;
#define MEMPROF_MEMBER(name, place) MEMPROF_##place(name)
#define MEMPROF_FILED_MEMBER(name, place, part, merge, report) MEMPROF_##place(name)
  MEMPROF_COUNTERS(MEMPROF_MEMBER, MEMPROF_FILED_MEMBER, MEMPROF_NO_FACT)
#undef MEMPROF_FIRST
#undef MEMPROF_DERIVED
#undef MEMPROF_LATER
#undef MEMPROF_MEMBER
#undef MEMPROF_FILED_MEMBER
};
// Bytes that the header of an arena has for them.
inline constexpr uint64_t kLaterStatisticsBytes = 256;
static_assert(sizeof(LaterStatistics) < kLaterStatisticsBytes);

inline void count(std::atomic<uint64_t>& counter, uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

// Adds to a sum of doubles without a lock.
inline void add(std::atomic<double>& sum, double x) {
  double old = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(old, old + x, std::memory_order_relaxed)) {
  }
}

// Raises a maximum.
template <typename T>
void raise(std::atomic<T>& maximum, T x) {
  T old = maximum.load(std::memory_order_relaxed);
  while (old < x && !maximum.compare_exchange_weak(old, x, std::memory_order_relaxed)) {
  }
}

}  // namespace memprof
