// SPDX-License-Identifier: Apache-2.0
// Stacks that are folded while they are read, and those of older arenas.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/reader/snapshot.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"
#include "tests/support/stack_passes.h"

namespace memprof::snapshot_stacks_test {
namespace {

using namespace testing_support::passes;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

// A record that was read before its stack was folded is not the next stack's.
TEST(SnapshotStacks, ARecordNamesOneStackForEver) {
  ScopedArena a(kLimits);
  const uint32_t first = intern(a, 1);
  a.stacks.add_allocated(first, 100, weigh(100, 4096));
  ASSERT_TRUE(a.live.insert({{0x10000, 100, 4096, 1, a.stacks.ref(first), 1}}));
  a.stacks.release(first);  // as if its block were freed
  for (uint64_t i = 1000; i < 3000; ++i) {
    pass(a, i);
  }
  ASSERT_NE(0u, a.stacks.entry(first).reuse.load());
  EXPECT_EQ(0u, take(a.arena)->records.size);
}

// A thread that passes samples, and one that reads meanwhile.
struct Race {
  uint64_t passes;
  uint64_t stacks;  // that the samples are of
  uint64_t ahead;   // so many samples the writer waits for the reader
  uint64_t settled = 0;
  uint64_t wrong = 0;

  void run(ScopedArena& a) {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> allowed{ahead};
    run_threads(2, [&](int thread) {
      if (thread == 0) {
        while (done.load() < passes) {
          const uint64_t min = done.load();
          const SnapshotPointer s = take(a.arena);
          const uint64_t max = begun.load();
          const Sums sums = sums_of(*s);
          settled += s->is_settled;
          wrong += s->is_settled && (sums.samples < min || sums.samples > max || sums.freed > max ||
                                     sums.size_bytes < 100 * sums.samples || sums.size_bytes > 100 * max);
          allowed.store(max + ahead);
        }
        return;
      }
      Random random(1);
      while (done.load() < passes) {
        if (begun.load() >= allowed.load()) {
          std::this_thread::yield();
          continue;
        }
        begun.fetch_add(1);
        pass(a, random.below(stacks));
        done.fetch_add(1);
      }
    });
    EXPECT_EQ(passes, sums_of(*take(a.arena)).samples);
  }
};

// Readers count each sample once, whatever is folded meanwhile.  (As far as the log goes: the writer waits for
// the reader every 2,000 samples, so that one that gets no processor is not overtaken by it.)
TEST(SnapshotStacks, ReadersFindEachSampleOnce) {
  ScopedArena a(kLimits);
  Race race{testing_support::scaled(40000), 4000, 2000};
  race.run(a);
  EXPECT_EQ(0u, race.wrong);
  EXPECT_GT(race.settled, 0u);
  EXPECT_GT(a.header().fold.done.load(), 0u);
}

// The first stacks that are folded give their sums to stacks that are new.
TEST(SnapshotStacks, ReadersFindEachSampleOnceWhileATableFills) {
  uint64_t wrong = 0;
  uint64_t settled = 0;
  for (uint64_t round = 0; round < testing_support::scaled(400); ++round) {
    ScopedArena a(kLimits);
    // The writer waits for the reader once, so that it has looked at least once also where it gets little processor.
    Race race{1000, 1000000, 900};
    race.run(a);
    wrong += race.wrong;
    settled += race.settled;
    EXPECT_GT(a.header().fold.done.load(), 0u);
  }
  EXPECT_EQ(0u, wrong);
  EXPECT_GT(settled, 0u);
}

// Whom the log overtakes knows it.
TEST(SnapshotStacks, ReadersThatAreOvertakenCountNothingTwice) {
  ScopedArena a(kLimits);
  Race race{testing_support::scaled(400000), 4000, UINT64_MAX / 2};
  race.run(a);
  EXPECT_EQ(0u, race.wrong);
}

// `passes` by each of some threads, while another one looks on.
void expect_that_nothing_is_lost(uint64_t passes) {
  ScopedArena a(kLimits);
  constexpr int kThreads = 4;
  std::atomic<int> writers{kThreads};
  run_threads(kThreads + 1, [&](int thread) {
    if (thread == kThreads) {
      do {
        EXPECT_NE(nullptr, take(a.arena));
      } while (writers.load() != 0);
      return;
    }
    Random random(static_cast<uint64_t>(thread) + 1);
    for (uint64_t i = 0; i < passes; ++i) {
      pass(a, random.below(4000));
    }
    writers.fetch_sub(1);
  });
  const Sums sums = sums_of(*take(a.arena));
  EXPECT_EQ(kThreads * passes, sums.samples);
  EXPECT_EQ(kThreads * passes, sums.freed);
  EXPECT_EQ(100 * kThreads * passes, sums.size_bytes);
  EXPECT_EQ(a.header().fold.begun.load(), a.header().fold.done.load());
  for (uint32_t i = 0; i < a.stacks.size(); ++i) {
    EXPECT_EQ(0u, a.stacks.entry(i).uses.load()) << i;
  }
}

// Nor is one lost when several threads fold at once.
TEST(SnapshotStacks, ThreadsThatFoldAtOnceLoseNothing) {
  expect_that_nothing_is_lost(testing_support::scaled(40000));
}

// One makes a stack that the reader meets while it reads again what another one folded.
TEST(SnapshotStacks, ThreadsThatFoldAtOnceWhileATableFillsLoseNothing) {
  for (uint64_t round = 0; round < testing_support::scaled(400); ++round) {
    expect_that_nothing_is_lost(500);
  }
}

// One that stopped in the middle of a fold, for ever.
TEST(SnapshotStacks, AFoldThatNeverEndsIsNotWaitedFor) {
  ScopedArena a(kLimits);
  for (uint64_t i = 0; i < 3000; ++i) {
    pass(a, i);
  }
  a.arena.header().fold.begun.fetch_add(1);
  EXPECT_EQ(3000u, sums_of(*take(a.arena)).samples);
  a.arena.header().fold.begun.store(0);  // garbage: fewer than are done
  EXPECT_EQ(3000u, sums_of(*take(a.arena)).samples);
}

// An arena of version 7 has peaks, and nothing was ever folded.
TEST(SnapshotStacks, AnArenaOfVersion7IsRead) {
  ScopedArena a;
  ArenaHeader& h = a.arena.header();
  h.version = 7;
  h.header_bytes = kVersion7HeaderBytes;
  h.section_count = kVersion7Sections;
  const uint32_t stack = intern(a, 1);
  a.stacks.add_allocated(stack, 64, weigh(64, 1));
  ASSERT_TRUE(a.live.insert({{0x1000, 64, 1, 5, stack, 1}}));
  h.last_sections[0].offset = 12345;  // whatever was there
  h.fold.begun = 99;
  h.later_statistics.thinned_samples = 99;
  const SnapshotPointer s = take(a.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(1u, s->records.size);
  EXPECT_EQ(1u, s->peaks.size);
  EXPECT_EQ(0u, s->counters.folded_stacks + s->counters.thinned_samples);
}

}  // namespace
}  // namespace memprof::snapshot_stacks_test
