// SPDX-License-Identifier: Apache-2.0
#include "core/reader/counters.h"

#include "core/tables/module_table.h"

namespace memprof {
namespace {

uint64_t get(const std::atomic<uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

Counters read_counters(const ArenaHeader& header, const StackEntry* stacks, uint64_t stack_count) {
  Counters c{};
  const uint32_t state = header.state.load(std::memory_order_relaxed);
  c.state =
      state <= static_cast<uint32_t>(State::kTerminated) ? static_cast<State>(state) : State::kUninitialized;
  c.rate_bytes = get(header.rate_bytes);
  const uint64_t live = header.live_count.load(std::memory_order_acquire);  // before samples: these only grow
  const Statistics& s = header.statistics;
#define MEMPROF_FIRST(name) c.name = get(s.name);
#define MEMPROF_LATER(name) c.name = has_later ? get(header.later_statistics.name) : 0;
#define MEMPROF_DERIVED(name)
#define MEMPROF_READ(name, place) MEMPROF_##place(name)
#define MEMPROF_FILED_READ(name, place, part, merge, report) MEMPROF_##place(name)
  const bool has_later = header.version >= kFirstVersionOfLaterStatistics;
  MEMPROF_COUNTERS(MEMPROF_READ, MEMPROF_FILED_READ, MEMPROF_NO_FACT)
#undef MEMPROF_FIRST
#undef MEMPROF_LATER
#undef MEMPROF_DERIVED
#undef MEMPROF_READ
#undef MEMPROF_FILED_READ
  c.dropped_samples = c.dropped_live_table + c.dropped_stack_table;
  c.modules = get(header.section(kModuleSection).used_bytes) / sizeof(ModuleEntry);
  if (header.version >= kFirstVersionOfPrimaryModules) {
    const uint64_t free = get(header.sweep.free_modules);
    c.modules -= free < c.modules ? free : c.modules;
  }
  c.frames = get(s.frames);
  uint64_t min = get(s.min_depth_plus_one);
  for (uint32_t i = 0; i < kWalkReasons; ++i) {
    c.walks[i] = get(s.walks[i]);
  }
  for (uint64_t i = 0; i < stack_count; ++i) {
    const StackEntry& e = stacks[i];
    // acquire pairs with the release in stack_table.cc.
    const uint64_t samples = e.ready.load(std::memory_order_acquire) != 0 ? get(e.allocated.samples) : 0;
    if (samples == 0) {
      continue;  // being entered, or by two threads at once
    }
    const uint64_t depth = __atomic_load_n(&e.depth, __ATOMIC_RELAXED);
    const uint32_t walk = __atomic_load_n(&e.walk, __ATOMIC_RELAXED) & kWalkMask;
    ++c.stacks;
    c.frames += samples * depth;
    c.walks[walk < kWalkReasons ? walk : static_cast<uint32_t>(Walk::kNoRule)] += samples;
    if (stack_kind(__atomic_load_n(&e.walk, __ATOMIC_RELAXED)) == StackKind::kWhole) {
      min = min == 0 || depth + 1 < min ? depth + 1 : min;
    }
  }
  for (const uint64_t walks : c.walks) {
    c.samples += walks;
  }
  // A sample is live, freed, dropped, or others stand for it.  For the moment between its walk and its entry into the live map it
  // counts as freed.
  const uint64_t dropped = c.dropped_samples + c.thinned_samples;
  const uint64_t kept = c.samples > dropped ? c.samples - dropped : 0;
  // Samples of stacks that were entered since `stack_count` was read are in `live` only.
  c.live_samples = live < kept ? live : kept;
  c.freed_samples = kept - c.live_samples;
  c.min_depth = min == 0 ? 0 : min - 1;
  c.cold_paths = c.samples + get(s.unrecorded_events);
  const uint32_t runtimes = header.version < kFirstVersionOfRuntimes       ? 1
                            : header.version < kFirstVersionOfMoreRuntimes ? kOlderMaxRuntimes
                                                                           : kMaxRuntimes;
  for (uint32_t i = 0; i < runtimes; ++i) {
    const RuntimeFacts& runtime = header.runtime(i);
    const uint64_t facts = get(runtime.version_and_objects);
    c.runtimes[i] = {static_cast<uint32_t>(facts >> 32), static_cast<uint32_t>(facts),
                     static_cast<uint32_t>(get(runtime.stacks))};
  }
  c.arena_bytes = header.total_bytes;
  c.arena_used_bytes = used_bytes(header);
  return c;
}

}  // namespace memprof
