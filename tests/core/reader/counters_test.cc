// SPDX-License-Identifier: Apache-2.0
#include "core/reader/counters.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "core/tables/module_table.h"
#include "core/tables/stack_table.h"
#include "platform/stack.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::counters_test {
namespace {

using testing_support::counters_of;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;

TEST(Counters, OfANewArenaAreZero) {
  ScopedArena a;
  const Counters c = counters_of(a.arena);
  EXPECT_EQ(State::kUninitialized, c.state);
  EXPECT_EQ(0u, c.samples + c.live_samples + c.freed_samples + c.dropped_weight_bytes + c.dropped_live_table +
                    c.dropped_stack_table + c.replaced_samples + c.stacks + c.modules + c.frames +
                    c.min_depth + c.cold_paths + c.filter_saturated + c.muted_bytes + c.import_modules +
                    c.import_patched + c.import_refused + c.import_foreign + c.import_unbound +
                    c.runtimes[0].version + c.runtimes[0].objects);
  EXPECT_EQ(a.header().total_bytes, c.arena_bytes);
  EXPECT_EQ(kPageBytes, c.arena_used_bytes);
}

TEST(Counters, EachIsReadFromItsPlace) {
  ScopedArena a;
  ArenaHeader& h = a.arena.header();
  h.state = static_cast<uint32_t>(State::kStopped);
  h.rate_bytes = 1;
  Statistics& s = h.statistics;
  h.live_count = 3;
  s.dropped_weight_bytes = 5;
  s.dropped_live_table = 6;
  s.dropped_stack_table = 7;
  s.replaced_samples = 8;
  s.frames = 9;
  for (uint32_t i = 0; i < platform::kWalkReasons; ++i) {
    s.walks[i] = 10 + i;
  }
  s.min_depth_plus_one = 16;
  s.unrecorded_events = 17;
  s.filter_saturated = 18;
  s.muted_bytes = 19;
  s.hooks = 27;
  s.import_modules = 22;
  s.import_patched = 23;
  s.import_refused = 24;
  s.import_foreign = 25;
  s.import_unbound = 26;
  h.later_statistics.import_taken = 31;
  h.later_statistics.import_unseen_ns = 32;
  h.later_statistics.bypassing_libraries = 33;
  s.first_runtime.version_and_objects = uint64_t{27} << 32 | 28;
  s.live_weight_bytes = 29;
  s.peak_weight_bytes = 30;
  h.section(kModuleSection).used_bytes = 21 * sizeof(ModuleEntry);
  const Counters c = read_counters(h, nullptr, 0);
  EXPECT_EQ(State::kStopped, c.state);
  EXPECT_EQ(1u, c.rate_bytes);
  EXPECT_EQ(75u, c.samples);  // 10 + ... + 15: one walk each
  EXPECT_EQ(3u, c.live_samples);
  EXPECT_EQ(75u - 3 - 6 - 7, c.freed_samples);
  EXPECT_EQ(5u, c.dropped_weight_bytes);
  EXPECT_EQ(6u, c.dropped_live_table);
  EXPECT_EQ(7u, c.dropped_stack_table);
  EXPECT_EQ(8u, c.replaced_samples);
  EXPECT_EQ(9u, c.frames);
  for (uint32_t i = 0; i < platform::kWalkReasons; ++i) {
    EXPECT_EQ(10 + i, c.walks[i]);
  }
  EXPECT_EQ(15u, c.min_depth);
  EXPECT_EQ(75u + 17, c.cold_paths);
  EXPECT_EQ(18u, c.filter_saturated);
  EXPECT_EQ(19u, c.muted_bytes);
  EXPECT_EQ(29u, c.live_weight_bytes);
  EXPECT_EQ(30u, c.peak_weight_bytes);
  EXPECT_EQ(27u, c.hooks);
  EXPECT_EQ(22u, c.import_modules);
  EXPECT_EQ(23u, c.import_patched);
  EXPECT_EQ(24u, c.import_refused);
  EXPECT_EQ(25u, c.import_foreign);
  EXPECT_EQ(26u, c.import_unbound);
  EXPECT_EQ(31u, c.import_taken);
  EXPECT_EQ(32u, c.import_unseen_ns);
  EXPECT_EQ(33u, c.bypassing_libraries);
  EXPECT_EQ(27u, c.runtimes[0].version);
  EXPECT_EQ(28u, c.runtimes[0].objects);
  EXPECT_EQ(0u, c.stacks);
  EXPECT_EQ(21u, c.modules);
  EXPECT_EQ(kPageBytes + 21 * sizeof(ModuleEntry), c.arena_used_bytes);
}

// A line of the list that nothing reads would be 0 here.
TEST(Counters, EachOfTheListIsRead) {
  ScopedArena a;
  bool is_new = false;
  const uint64_t frames[] = {0x401000, 0x402000};
  const uint32_t stack = a.stacks.intern(frames, 2, Walk::kRoot, &is_new);
  for (int i = 0; i < 100; ++i) {
    a.stacks.add_allocated(stack, 100, weigh(100, 0));
  }
  ArenaHeader& h = a.arena.header();
  h.rate_bytes = 1;
  h.live_count = 1;
  h.section(kModuleSection).used_bytes = sizeof(ModuleEntry);
#define MEMPROF_FIRST(name) h.statistics.name = 2;
#define MEMPROF_LATER(name) h.later_statistics.name = 3;
#define MEMPROF_DERIVED(name)
#define MEMPROF_SET(name, place) MEMPROF_##place(name)
#define MEMPROF_SET_FILED(name, place, part, merge, report) MEMPROF_##place(name)
  MEMPROF_COUNTERS(MEMPROF_SET, MEMPROF_SET_FILED, MEMPROF_NO_FACT)
  const Counters c = counters_of(a.arena);
#define MEMPROF_EXPECT(name, ...) EXPECT_NE(0u, c.name) << #name;
  MEMPROF_COUNTERS(MEMPROF_EXPECT, MEMPROF_EXPECT, MEMPROF_NO_FACT)
  // What an arena of version 7 has in their place is not a counter.
  h.version = kFirstVersionOfLaterStatistics - 1;
  const Counters old = counters_of(a.arena);
  EXPECT_EQ(0u, old.folded_stacks + old.thinned_samples);
  EXPECT_EQ(c.replaced_samples, old.replaced_samples);
}

// Files have counters by their places: those that a release wrote never move.
TEST(Counters, OfFilesKeepTheirPlaces) {
  EXPECT_EQ(0u, offsetof(LaterStatistics, folded_stacks));
  EXPECT_EQ(8u, offsetof(LaterStatistics, thinned_samples));
}

TEST(Counters, SamplesAreSummedOverStacks) {
  ScopedArena a;
  bool is_new = false;
  const uint64_t frames[] = {0x401000, 0x402000, 0x403000};
  const uint32_t deep = a.stacks.intern(frames, 3, platform::Walk::kRoot, &is_new);
  const uint32_t shallow = a.stacks.intern(frames, 1, platform::Walk::kBadFrame, &is_new);
  a.stacks.intern(frames, 0, platform::Walk::kNoRule, &is_new);  // nobody came with a sample
  for (int i = 0; i < 5; ++i) {
    a.stacks.add_allocated(deep, 100, weigh(100, 0));
  }
  a.stacks.add_allocated(shallow, 100, weigh(100, 0));
  Statistics& s = a.arena.header().statistics;
  s.walks[static_cast<uint32_t>(platform::Walk::kRoot)] = 2;  // dropped: two of 7 frames together
  s.frames = 7;
  s.min_depth_plus_one = 3;
  s.dropped_stack_table = 2;
  const Counters c = counters_of(a.arena);
  EXPECT_EQ(8u, c.samples);
  EXPECT_EQ(2u, c.stacks);
  EXPECT_EQ(5u * 3 + 1 + 7, c.frames);
  EXPECT_EQ(7u, c.walks[static_cast<uint32_t>(platform::Walk::kRoot)]);
  EXPECT_EQ(1u, c.walks[static_cast<uint32_t>(platform::Walk::kBadFrame)]);
  EXPECT_EQ(0u, c.walks[static_cast<uint32_t>(platform::Walk::kNoRule)]);
  EXPECT_EQ(1u, c.min_depth);
  EXPECT_EQ(6u, c.freed_samples);  // neither live nor dropped
}

// Of a process that goes on: `stack_count` is from before, what lives is from now.
TEST(Counters, NoMoreLiveThanWereTaken) {
  ScopedArena a;
  StackEntry stacks[2] = {};
  for (StackEntry& e : stacks) {
    e.ready.store(1);
    e.allocated.samples.store(3);
  }
  a.arena.header().live_count.store(5);
  const Counters all = read_counters(a.header(), stacks, 2);
  EXPECT_EQ(6u, all.samples);
  EXPECT_EQ(5u, all.live_samples);
  EXPECT_EQ(1u, all.freed_samples);
  const Counters earlier = read_counters(a.header(), stacks, 1);
  EXPECT_EQ(3u, earlier.samples);
  EXPECT_EQ(3u, earlier.live_samples);
  EXPECT_EQ(0u, earlier.freed_samples);
}

TEST(Counters, OpenLevelsCountAsUsed) {
  ScopedArena a;
  ASSERT_TRUE(a.live.insert({{0x1000, 1, 1, 1, 0, 1}}));
  EXPECT_EQ(kPageBytes + kFirstLevelSlots * (sizeof(uint64_t) + sizeof(LiveRecord)),
            counters_of(a.arena).arena_used_bytes);
}

TEST(Counters, AnyBytesWillDo) {
  Random random(5);
  alignas(ArenaHeader) uint8_t bytes[sizeof(ArenaHeader)];
  for (uint64_t i = 0; i < scaled(20000); ++i) {
    for (uint8_t& b : bytes) {
      b = static_cast<uint8_t>(random.below(4) == 0 ? 0xff : random.next());
    }
    alignas(StackEntry) uint8_t entries[3 * sizeof(StackEntry)];
    for (uint8_t& b : entries) {
      b = static_cast<uint8_t>(random.next());
    }
    const Counters c = read_counters(*reinterpret_cast<const ArenaHeader*>(bytes),
                                     reinterpret_cast<const StackEntry*>(entries), 3);
    ASSERT_LE(static_cast<uint32_t>(c.state), static_cast<uint32_t>(State::kTerminated));
  }
}

TEST(Counters, SumsOfDoublesLoseNothingUnderRaces) {
  std::atomic<double> sum{0};
  std::atomic<uint64_t> max{0};
  std::atomic<double> max_double{0};
  const uint64_t each = scaled(100000);
  run_threads(8, [&](int thread) {
    for (uint64_t i = 0; i < each; ++i) {
      add(sum, 0.5);
      raise(max, i * 8 + static_cast<uint64_t>(thread));
      raise(max_double, static_cast<double>(i));
    }
  });
  EXPECT_EQ(4.0 * static_cast<double>(each), sum.load());
  EXPECT_EQ((each - 1) * 8 + 7, max.load());
  EXPECT_EQ(static_cast<double>(each - 1), max_double.load());
}

}  // namespace
}  // namespace memprof::counters_test
