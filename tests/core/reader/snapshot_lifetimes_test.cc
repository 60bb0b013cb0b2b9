// SPDX-License-Identifier: Apache-2.0
// How long blocks lived, as a reader finds it: in an arena, in a file, and while stacks are folded.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/tables/stack_table.h"
#include "tests/support/arena.h"
#include "tests/support/stack_passes.h"

namespace memprof::snapshot_lifetimes_test {
namespace {

using namespace testing_support::passes;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

void free_after(ScopedArena& a, uint32_t stack, uint64_t size_bytes, uint64_t lifetime_ns) {
  const Weight weight = weigh(size_bytes, 4096);
  a.stacks.add_allocated(stack, size_bytes, weight);
  a.stacks.add_freed(stack, size_bytes, weight, lifetime_ns);
}

TEST(SnapshotLifetimes, AreInTheOrderOfStacksAndClasses) {
  ScopedArena a;
  const uint32_t first = intern(a, 1);
  const uint32_t second = intern(a, 2);
  free_after(a, second, 100, 2000000000);
  free_after(a, second, 100, 500);
  free_after(a, first, 64, 5000000);
  free_after(a, first, 64, 6000000);
  const SnapshotPointer s = take(a.arena);
  ASSERT_EQ(3u, s->lifetimes.size);
  const SnapshotLifetime* l = s->lifetimes.data;
  EXPECT_EQ(first, l[0].stack_id);
  EXPECT_EQ(lifetime_class(5000000), l[0].lifetime_class);
  EXPECT_EQ(2u, l[0].samples);
  EXPECT_EQ(128u, l[0].size_bytes);
  EXPECT_DOUBLE_EQ(2 * weigh(64, 4096).bytes, l[0].weight_bytes);
  EXPECT_DOUBLE_EQ(2 * weigh(64, 4096).count, l[0].weight_count);
  EXPECT_EQ(second, l[1].stack_id);
  EXPECT_EQ(0u, l[1].lifetime_class);
  EXPECT_EQ(lifetime_class(2000000000), l[2].lifetime_class);
  EXPECT_EQ(2u, s->stacks.data[second].freed.samples);
  EXPECT_EQ(0u, s->stacks.data[second].min_lifetime_ns);
  EXPECT_EQ(3000000000u, s->stacks.data[second].max_lifetime_ns);
}

TEST(SnapshotLifetimes, WhatTheEndFreedCountsAsTheMeanOfTheOthers) {
  ScopedArena a;
  const uint32_t stack = intern(a, 1);
  const Weight weight = weigh(64, 4096);
  const auto at_end = [&] {
    a.stacks.add_allocated(stack, 64, weight);
    add_totals(a.stacks.freed_at_end(stack), 64, weight);
  };
  at_end();
  SnapshotPointer s = take(a.arena);
  EXPECT_EQ(1u, s->stacks.data[stack].freed.samples);
  EXPECT_EQ(0, s->stacks.data[stack].lifetime_ns) << "there are no others";
  EXPECT_EQ(0u, s->lifetimes.size);
  free_after(a, stack, 64, 50000);
  at_end();
  s = take(a.arena);
  ASSERT_EQ(1u, s->lifetimes.size);
  const SnapshotStack& found = s->stacks.data[stack];
  EXPECT_EQ(3u, found.freed.samples);
  EXPECT_EQ(1u, s->lifetimes.data[0].samples);
  EXPECT_DOUBLE_EQ(lifetime_class_mean_ns(lifetime_class(50000)),
                   found.lifetime_ns / found.freed.weight_count);
}

TEST(SnapshotLifetimes, YoungerThanATime) {
  ScopedArena a;
  const uint32_t stack = intern(a, 1);
  for (int i = 0; i < 10; ++i) {
    free_after(a, stack, 64, 50000);
  }
  free_after(a, stack, 1000, 5000000);
  free_after(a, stack, 1000, 5000000000);
  const SnapshotPointer s = take(a.arena);
  SnapshotTotals young{};
  EXPECT_EQ(10000000u, s->sum_younger(10000000, &young, 1));
  const Weight small = weigh(64, 4096);
  const Weight large = weigh(1000, 4096);
  EXPECT_EQ(11u, young.samples);
  EXPECT_EQ(1640u, young.size_bytes);
  EXPECT_DOUBLE_EQ(10 * small.bytes + large.bytes, young.weight_bytes);
  EXPECT_DOUBLE_EQ(10 * small.count + large.count, young.weight_count);
  EXPECT_DOUBLE_EQ(small.missed, young.max_missed_count);
  EXPECT_GT(young.variance_bytes, 0);
  EXPECT_LT(young.variance_bytes, s->stacks.data[0].allocated.variance_bytes);
  // Blocks of one size have the intervals of blocks of one size.
  EXPECT_EQ(100000u, s->sum_younger(90000, &young, 1));
  EXPECT_EQ(10u, young.samples);
  EXPECT_NEAR(small.missed, young.max_missed_count, 1e-9);
  EXPECT_EQ(1000u, s->sum_younger(1, &young, 1));
  EXPECT_EQ(0u, young.samples);
  EXPECT_EQ(0.0, young.weight_bytes);
}

// An arena of version 7 has the sum, the least and the most.
TEST(SnapshotLifetimes, OfVersion7AreRead) {
  ScopedArena a;
  const uint32_t stack = intern(a, 1);
  const Weight weight = weigh(64, 1);
  a.stacks.add_allocated(stack, 64, weight);
  StackEntry& e = a.stacks.entry(stack);
  add_totals(&e.freed, 64, weight);
  const double sum = 1234;
  const uint64_t min_plus_one = 1235;
  const uint64_t max = 1234;
  auto* words = reinterpret_cast<unsigned char*>(e.units);
  memcpy(words, &sum, sizeof(sum));
  memcpy(words + 8, &min_plus_one, sizeof(min_plus_one));
  memcpy(words + 16, &max, sizeof(max));
  ArenaHeader& h = a.arena.header();
  h.version = 7;
  h.header_bytes = kVersion7HeaderBytes;
  h.section_count = kVersion7Sections;
  const SnapshotPointer s = take(a.arena);
  ASSERT_NE(nullptr, s);
  const SnapshotStack& read = s->stacks.data[stack];
  EXPECT_EQ(1u, read.freed.samples);
  EXPECT_EQ(1234.0, read.lifetime_ns);
  EXPECT_EQ(1234u, read.min_lifetime_ns);
  EXPECT_EQ(1234u, read.max_lifetime_ns);
  EXPECT_EQ(0u, s->lifetimes.size);
}

TEST(SnapshotLifetimes, GarbageIsNoSum) {
  ScopedArena a;
  const uint32_t stack = intern(a, 1);
  free_after(a, stack, 64, 10);
  StackEntry& e = a.stacks.entry(stack);
  e.units[1] = UINT32_MAX;  // no such unit
  e.units[2] = 2;           // nor this
  StackTotals& sums = a.arena.at<LifetimeUnit>(kLifetimeSection)->classes[0];
  sums.weight_bytes = -5;
  sums.weight_count = std::numeric_limits<double>::quiet_NaN();
  const SnapshotPointer s = take(a.arena);
  ASSERT_EQ(1u, s->lifetimes.size);
  EXPECT_EQ(64.0, s->lifetimes.data[0].weight_bytes);
  EXPECT_EQ(1.0, s->lifetimes.data[0].weight_count);
  EXPECT_EQ(1.0, s->stacks.data[stack].freed.weight_count);
  sums.samples = UINT64_MAX;
  EXPECT_EQ(0u, take(a.arena)->lifetimes.size);
}

// A stack that is read again, since it was folded meanwhile, is there once.
TEST(SnapshotLifetimes, FoldedStacksKeepTheirs) {
  ScopedArena a(kLimits);
  constexpr uint64_t kStacks = 3000;
  for (uint64_t i = 0; i < kStacks; ++i) {
    pass(a, i);
  }
  a.arena.header().fold.done.fetch_sub(60);  // the reader looks at the last folds again, and again
  const SnapshotPointer s = take(a.arena);
  uint64_t samples = 0;
  for (uint64_t i = 0; i < s->lifetimes.size; ++i) {
    const SnapshotLifetime& l = s->lifetimes.data[i];
    samples += l.samples;
    if (i > 0) {
      const SnapshotLifetime& before = s->lifetimes.data[i - 1];
      EXPECT_TRUE(before.stack_id < l.stack_id ||
                  (before.stack_id == l.stack_id && before.lifetime_class < l.lifetime_class));
    }
  }
  EXPECT_EQ(kStacks, samples);
  EXPECT_EQ(kStacks, sums_of(*s).freed);
}

}  // namespace
}  // namespace memprof::snapshot_lifetimes_test
