// SPDX-License-Identifier: Apache-2.0
#include "profile/model/stack_sum.h"

#include <gtest/gtest.h>

#include "profile/model/estimate.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

TEST(StackSum, StatisticsAddUp) {
  const Stack stack = named_profile().stacks[0];
  Stack sum = stack;
  add_to_stack(stack, &sum);
  EXPECT_EQ(sum.allocated.samples, 2 * stack.allocated.samples);
  EXPECT_EQ(sum.live.size(), stack.live.size());
  EXPECT_EQ(sum.lifetime_ns, 2 * stack.lifetime_ns);
  ASSERT_EQ(sum.lifetimes.size(), stack.lifetimes.size());
  ASSERT_FALSE(sum.lifetimes.empty());
  EXPECT_EQ(sum.lifetimes[0].weight_bytes, 2 * stack.lifetimes[0].weight_bytes);
  Accumulator together;
  together.add(sum);
  Accumulator apart;
  apart.add(stack);
  apart.add(stack);
  for (const Metric metric : {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kInuseObjects}) {
    EXPECT_NEAR(together.estimate(metric).value, apart.estimate(metric).value, 1);
    EXPECT_NEAR(together.estimate(metric).high / apart.estimate(metric).high, 1, 0.01);
  }
}

TEST(StackSum, SizesAndRatesAreKeptApart) {
  Stack a;
  a.live = {{64, 100, 1}, {32, 100, 2}};
  Stack b;
  b.live = {{64, 200, 3}, {64, 100, 4}};
  add_to_stack(b, &a);
  ASSERT_EQ(a.live.size(), 3u);
  EXPECT_EQ(a.live[0].size_bytes, 32u);
  EXPECT_EQ(a.live[1].samples, 5u);
  EXPECT_EQ(a.live[2].samples, 3u);
}

TEST(StackSum, LabelsAreKeptApartAndCutStacksStayCut) {
  Stack a;
  a.parts = {{{{"k", "x", 0, ""}}, {1, 1, 1, 1}}};
  Stack b = a;
  b.parts.push_back({{{"k", "y", 0, ""}}, {2, 2, 2, 2}});
  b.walk = Walk::kBadFrame;
  add_to_stack(b, &a);
  ASSERT_EQ(a.parts.size(), 2u);
  EXPECT_EQ(a.parts[0].values[3], 2);
  EXPECT_EQ(a.walk, Walk::kBadFrame);
}

TEST(StackSum, SameMeansPlaceHeapAndProcess) {
  Stack a;
  a.locations = {1, 2};
  Stack b = a;
  EXPECT_TRUE(is_same_stack(a, b));
  EXPECT_EQ(stack_hash(a), stack_hash(b));
  b.heap = "arena";
  EXPECT_FALSE(is_same_stack(a, b));
  b = a;
  b.locations = {2, 1};
  EXPECT_FALSE(is_same_stack(a, b));
  EXPECT_NE(stack_hash(a), stack_hash(b));
}

}  // namespace
}  // namespace memprof::profile
