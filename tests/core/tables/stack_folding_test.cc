// SPDX-License-Identifier: Apache-2.0
// A full table of stacks: sums stay what they are, and the newest stacks are whole.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/tables/peak.h"
#include "core/tables/stack_table.h"
#include "tests/support/arena.h"
#include "tests/support/stack_passes.h"

namespace memprof::stack_folding_test {
namespace {

using namespace testing_support::passes;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

bool has_whole(const Snapshot& s, uint64_t stack) {
  const std::vector<uint64_t> frames = frames_of(stack);
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& entry = s.stacks.data[i];
    if (entry.allocated.samples != 0 && entry.frame_count == kDepth &&
        std::equal(frames.begin(), frames.end(), s.frames.data + entry.first_frame)) {
      return true;
    }
  }
  return false;
}

TEST(StackFolding, SumsStayAndTheNewestAreWhole) {
  ScopedArena a(kLimits);
  constexpr uint64_t kStacks = 20000;
  Sums expected;
  for (uint64_t i = 0; i < kStacks; ++i) {
    pass(a, i, 64 + i % 1000);
    const Weight w = weigh(64 + i % 1000, 4096);
    expected.weight_bytes += w.bytes;
    expected.size_bytes += 64 + i % 1000;
    expected.variance_bytes += (1 - w.probability) * w.bytes * w.bytes;
    expected.lifetime_ns += lifetime_class_mean_ns(lifetime_class(1000 + i)) * w.count;
  }
  const SnapshotPointer s = take(a.arena);
  const Sums sums = sums_of(*s);
  EXPECT_EQ(kStacks, sums.samples);
  EXPECT_EQ(kStacks, sums.freed);
  EXPECT_EQ(expected.size_bytes, sums.size_bytes);
  EXPECT_NEAR(expected.weight_bytes, sums.weight_bytes, 1e-9 * expected.weight_bytes);
  EXPECT_NEAR(expected.variance_bytes, sums.variance_bytes, 1e-9 * expected.variance_bytes);
  EXPECT_NEAR(expected.lifetime_ns, sums.lifetime_ns, 1e-9 * expected.lifetime_ns);
  // So are the classes: what lived 1 to 3 us, 3 to 10, and 10 to 30.
  uint64_t freed[kLifetimeClasses] = {};
  for (uint64_t i = 0; i < s->lifetimes.size; ++i) {
    freed[s->lifetimes.data[i].lifetime_class] += s->lifetimes.data[i].samples;
  }
  EXPECT_EQ(2000u, freed[1]);
  EXPECT_EQ(7000u, freed[2]);
  EXPECT_EQ(kStacks - 9000, freed[3]);
  EXPECT_EQ(0u, a.header().later_statistics.unclassed_frees.load());  // a fold needs no new units
  for (uint64_t i = kStacks - 300; i < kStacks; ++i) {
    ASSERT_TRUE(has_whole(*s, i)) << i;
  }
  EXPECT_LE(s->stacks.size, kLimits.max_stacks);
  EXPECT_EQ(s->counters.samples, kStacks);
}

// The leaf's end and the root of what was folded, as long as shortened stacks have room.
TEST(StackFolding, WhatIsLeftNamesLeafAndRoot) {
  ScopedArena a(kLimits);
  for (uint64_t i = 0; i < 2000; ++i) {
    pass(a, i % 450);  // more than have room, repeatedly
  }
  const SnapshotPointer s = take(a.arena);
  uint64_t shortened = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    const SnapshotStack& stack = s->stacks.data[i];
    const uint64_t* frames = s->frames.data + stack.first_frame;
    if (stack.frame_count == 10) {
      ++shortened;
      EXPECT_EQ(platform::kOlderStacks, frames[8]);
      EXPECT_EQ(frames_of(0).back(), frames[9]);
      EXPECT_EQ(frames[0] + 7, frames[7]);
    }
  }
  EXPECT_GT(shortened, 0u);
}

TEST(StackFolding, WhatIsHeldStaysWhatItIs) {
  ScopedArena a(kLimits);
  std::vector<uint32_t> held;
  std::vector<uint32_t> refs;
  for (uint64_t i = 0; i < 100; ++i) {
    held.push_back(intern(a, i));
    refs.push_back(a.stacks.ref(held.back()));
    a.stacks.add_allocated(held.back(), 10, weigh(10, 0));
  }
  for (uint64_t i = 1000; i < 11000; ++i) {
    pass(a, i);
  }
  for (uint64_t i = 0; i < 100; ++i) {
    // New samples of it may go elsewhere, if it was to leave.
    EXPECT_EQ(refs[i], a.stacks.ref(held[i]));
    const StackEntry& e = a.stacks.entry(held[i]);
    const std::vector<uint64_t> frames = frames_of(i);
    for (uint32_t f = 0; f < kDepth; ++f) {
      EXPECT_EQ(frames[f], a.stacks.frame(e, f));
    }
    EXPECT_EQ(1u, a.stacks.entry(held[i]).allocated.samples.load());
  }
}

// Every entry is held: new stacks are shortened, and nothing is lost.
TEST(StackFolding, WhereAllIsLiveNewStacksAreShortened) {
  ScopedArena a(kLimits);
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint32_t id = intern(a, i);
    ASSERT_NE(StackTable::kNone, id);
    a.stacks.add_allocated(id, 10, weigh(10, 0));
  }
  EXPECT_EQ(5000u, sums_of(*take(a.arena)).samples);
}

TEST(StackFolding, ATableOfOneStackHasAllSums) {
  ScopedArena a(Limits{1024, 1, 64});
  for (uint64_t i = 0; i < 100; ++i) {
    pass(a, i);
  }
  const SnapshotPointer s = take(a.arena);
  ASSERT_EQ(1u, s->stacks.size);
  EXPECT_EQ(100u, s->stacks.data[0].allocated.samples);
  EXPECT_EQ(platform::kOlderStacks, s->frames.data[s->stacks.data[0].first_frame]);
}

TEST(StackFolding, AStackThatIsSampledAgainAndAgainStays) {
  ScopedArena a(kLimits);
  const uint32_t hot = intern(a, 1);
  a.stacks.release(hot);
  for (uint64_t i = 1000; i < 21000; ++i) {
    pass(a, i);
    if (i % 16 == 0) {
      pass(a, 1);
    }
  }
  EXPECT_EQ(hot, intern(a, 1));
  EXPECT_EQ(20000u / 16, a.stacks.entry(hot).allocated.samples.load());
}

// The sums of the peak go with the stack.
TEST(StackFolding, ThePeakKeepsWhatItHeld) {
  ScopedArena a(kLimits);
  const PeakTable peaks(a.arena);
  for (uint64_t i = 0; i < 100; ++i) {
    const uint32_t id = intern(a, i);
    const LiveSample sample{{0x10000 + i * 16, 1000, 1, 1 + i, a.stacks.ref(id), 1}};
    a.stacks.add_allocated(id, 1000, weigh(1000, 1));
    peaks.add(sample);
    a.stacks.add_freed(id, 1000, weigh(1000, 1), 5);
  }
  for (uint64_t i = 0; i < 100; ++i) {
    const uint32_t id = intern(a, i);
    const LiveSample sample{{0x10000 + i * 16, 1000, 1, 1 + i, a.stacks.ref(id), 1}};
    peaks.take(sample, 1000);
    a.stacks.release(id);
    a.stacks.release(id);
  }
  for (uint64_t i = 1000; i < 5000; ++i) {
    pass(a, i);
  }
  const SnapshotPointer s = take(a.arena);
  EXPECT_NEAR(100000.0, s->peak.weight_bytes, 1.0);
}

}  // namespace
}  // namespace memprof::stack_folding_test
