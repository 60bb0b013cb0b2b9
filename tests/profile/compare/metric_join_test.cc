// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/metric_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// main calls work, which has `value` of the metric; all addresses are `slide` higher than elsewhere.
Profile with_one(Metric metric, double value, uint64_t slide) {
  Profile profile;
  profile.program = "shop";
  profile.rate_bytes = 4096;
  profile.has_metric[metric_index(metric)] = true;
  profile.mappings.push_back({slide, slide + 0x1000, 0, "/bin/shop", "ab", true, true, true, false});
  profile.functions = {{"main", "main", "main.c", 1}, {"work", "work", "work.c", 5}};
  profile.locations = {{slide + 0x10, 0, false, {{0, 3}}}, {slide + 0x20, 0, false, {{1, 9}}}};
  Stack stack;
  stack.locations = {1, 0};
  stack.values[metric_index(metric)] = value;
  profile.stacks.push_back(stack);
  return profile;
}

TEST(MetricJoin, AStackHasTheMetricsOfAll) {
  MetricJoin join;
  join.add(with_one(Metric::kAllocSpace, 100, 0x1000), 1);
  join.add(with_one(Metric::kInuseSpace, 30, 0x7000), 4);
  const Profile profile = join.take();
  EXPECT_EQ(profile.program, "shop");
  EXPECT_EQ(profile.rate_bytes, 4096u);
  ASSERT_THAT(profile.stacks, SizeIs(1));
  EXPECT_EQ(profile.stacks[0].values[metric_index(Metric::kAllocSpace)], 100);
  EXPECT_EQ(profile.stacks[0].values[metric_index(Metric::kInuseSpace)], 7.5);
  EXPECT_TRUE(profile.has_metric[metric_index(Metric::kAllocSpace)]);
  EXPECT_TRUE(profile.has_metric[metric_index(Metric::kInuseSpace)]);
  EXPECT_FALSE(profile.has_metric[metric_index(Metric::kPeakSpace)]);
  EXPECT_THAT(profile.locations, SizeIs(2));
  EXPECT_THAT(profile.functions, SizeIs(2));
  EXPECT_THAT(profile.mappings, SizeIs(1));
}

// A server that adds up processes keeps one address of each place, of whichever it was.
TEST(MetricJoin, OneAddressOfTwoNamesIsTwoPlaces) {
  Profile profile = with_one(Metric::kAllocSpace, 100, 0x1000);
  profile.locations[1].address = profile.locations[0].address;
  MetricJoin join;
  join.add(profile, 1);
  EXPECT_THAT(join.take().locations, SizeIs(2));
}

TEST(MetricJoin, LinesAndFilesTellPlacesApart) {
  Profile other = with_one(Metric::kAllocSpace, 1, 0x1000);
  other.locations[1].lines[0].line = 10;
  Profile third = with_one(Metric::kAllocSpace, 1, 0x1000);
  third.mappings[0].build_id = "cd";
  MetricJoin join;
  join.add(with_one(Metric::kAllocSpace, 1, 0x1000), 1);
  join.add(other, 1);
  join.add(third, 1);
  const Profile profile = join.take();
  EXPECT_THAT(profile.stacks, SizeIs(3));
  EXPECT_THAT(profile.mappings, SizeIs(2));
}

TEST(MetricJoin, WhatHasNoNameIsToldByItsAddress) {
  Profile profile = with_one(Metric::kAllocSpace, 1, 0x1000);
  for (Location& location : profile.locations) location.lines.clear();
  MetricJoin join;
  join.add(profile, 1);
  join.add(profile, 1);
  const Profile joined = join.take();
  EXPECT_THAT(joined.locations, SizeIs(2));
  ASSERT_THAT(joined.stacks, SizeIs(1));
  EXPECT_THAT(joined.stacks[0].locations, ElementsAre(1, 0));
}

TEST(MetricJoin, WhatNamesNothingIsLeftOut) {
  Profile profile = with_one(Metric::kAllocSpace, 1, 0x1000);
  profile.locations[0].lines[0].function = 7;
  profile.locations[1].mapping = 9;
  MetricJoin join;
  join.add(profile, 1);
  const Profile joined = join.take();
  EXPECT_THAT(joined.locations[0].lines, SizeIs(0));
  EXPECT_EQ(joined.locations[1].mapping, kNoMapping);
}

}  // namespace
}  // namespace memprof::profile
