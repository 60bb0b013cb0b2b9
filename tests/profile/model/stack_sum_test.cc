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
  ASSERT_EQ(sum.births.size(), 2u);
  EXPECT_EQ(sum.births[1].part, 15u);
  EXPECT_EQ(sum.births[1].samples, 6u);
  EXPECT_EQ(sum.births[1].weight_count, 750);
  add_births({{7, 1, 2, 3}}, &sum.births);
  ASSERT_EQ(sum.births.size(), 3u);
  EXPECT_EQ(sum.births[1].part, 7u);
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

TEST(StackSum, ValuesWithoutLabelsStayBesideThoseWithLabels) {
  Stack plain;
  plain.values = {1, 10, 1, 10};
  Stack labelled;
  labelled.values = {2, 20, 2, 20};
  labelled.parts = {{{{"k", "x", 0, ""}}, labelled.values}};
  for (const bool is_plain_first : {true, false}) {
    Stack sum = is_plain_first ? plain : labelled;
    add_to_stack(is_plain_first ? labelled : plain, &sum);
    EXPECT_EQ(sum.values[3], 30);
    ASSERT_EQ(sum.parts.size(), 2u);
    EXPECT_EQ(sum.parts[0].values[3] + sum.parts[1].values[3], 30);
  }
}

TEST(StackSums, EachIsThereOnce) {
  std::vector<Stack> stacks;
  StackSums sums(&stacks);
  Stack a;
  a.locations = {1};
  a.values = {1, 1, 1, 1};
  Stack exact = a;
  exact.has_statistics = true;
  Stack other = a;
  other.heap = "h";
  for (const Stack& stack : {a, exact, other, a}) sums.add(stack);
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks[0].values[0], 2);
  EXPECT_EQ(sums.find(other), &stacks[2]);
  other.heap = "k";
  EXPECT_EQ(sums.find(other), nullptr);
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

// A process that was busy all the time has none by load: its parts are those of the time.
TEST(StackSum, BirthsByLoadAddUpWithThoseOfProcessesThatHaveNone) {
  Stack idle, busy;
  idle.births = {{0, 4, 400, 4}};
  idle.load_births = {{5, 4, 400, 4}};
  busy.births = {{5, 1, 100, 1}, {9, 1, 100, 1}};
  for (const bool is_idle_first : {true, false}) {
    Stack sum = is_idle_first ? idle : busy;
    add_all_births(is_idle_first ? busy : idle, &sum);
    ASSERT_EQ(sum.load_births.size(), 2u);
    EXPECT_EQ(sum.load_births[0].samples, 5u);
    EXPECT_EQ(sum.load_births[1].part, 9u);
    ASSERT_EQ(sum.births.size(), 3u);
  }
  Stack both = busy;
  add_all_births(busy, &both);
  EXPECT_TRUE(both.load_births.empty());
  LoadTimes more, less;
  more.bytes = 2;
  less.bytes = 1;
  add_load(less, &more);
  EXPECT_EQ(more.bytes, 2u);
  add_load(more, &less);
  EXPECT_EQ(less.bytes, 2u);
}

}  // namespace
}  // namespace memprof::profile
