// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using comparison_fixture::server;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Comparison, GrowthAndShrinkageApartAndTheRestSummedUp) {
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after());
  ASSERT_THAT(result.growth, SizeIs(1));
  EXPECT_EQ(result.growth[0].group.name, "cache");
  const double bytes = 64 / sampling_probability(64, comparison_fixture::kRate);
  EXPECT_NEAR(result.growth[0].change.value, 200 * bytes, 1);
  EXPECT_GT(result.growth[0].change.low, 150 * bytes);
  EXPECT_LT(result.growth[0].change.high, 250 * bytes);
  EXPECT_TRUE(result.growth[0].is_significant);
  ASSERT_THAT(result.shrinkage, SizeIs(1));
  EXPECT_EQ(result.shrinkage[0].group.name, "pool");
  EXPECT_THAT(result.others, SizeIs(3));  // fresh, noise, steady; main holds nothing itself
  EXPECT_NEAR(result.others_after - result.others_before, 5 * bytes, 1);
  EXPECT_TRUE(result.is_tested);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_NEAR(result.total().value, 5 * bytes, 1);
  EXPECT_FALSE(is_significant(result.total()));
}

TEST(Comparison, BesideARowStandsWhatItIsOnTheSideThatHasMore) {
  const auto row = [](uint64_t before, uint64_t after) {
    return compare({comparison_fixture::arrays("old", before, 4)},
                   {comparison_fixture::arrays("new", after, 7)});
  };
  const Comparison grew = row(2, 5);
  ASSERT_THAT(grew.growth, SizeIs(1));
  EXPECT_EQ(grew.growth[0].notes.through->function, "array_empty");
  EXPECT_EQ(grew.growth[0].notes.called_by->line, 7);
  const Comparison shrank = row(5, 2);
  ASSERT_THAT(shrank.shrinkage, SizeIs(1));
  EXPECT_EQ(shrank.shrinkage[0].notes.called_by->line, 4);
}

TEST(Comparison, EqualSidesHaveNoChange) {
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::before());
  EXPECT_THAT(result.growth, IsEmpty());
  EXPECT_THAT(result.shrinkage, IsEmpty());
  EXPECT_EQ(result.total().value, 0);
  EXPECT_EQ(result.total().p_value, 1);
}

TEST(Comparison, RatesMayDiffer) {
  const Comparison result =
      compare({server("a", {{"cache", 800}}, 8192)}, {server("b", {{"cache", 100}}, 65536)});
  EXPECT_THAT(result.growth, IsEmpty());
  EXPECT_THAT(result.others, SizeIs(1));
  EXPECT_FALSE(is_significant(result.total()));
}

TEST(Comparison, FocusSelectsStacks) {
  ComparisonOptions options;
  options.filter.focus = Pattern("cache");
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after(), options);
  EXPECT_THAT(result.growth, SizeIs(1));
  EXPECT_EQ(result.row_count(), 1u);
  EXPECT_TRUE(is_significant(result.total()));
  EXPECT_EQ(result.filter.focus, "cache");
}

TEST(Comparison, GroupsAreComparedByTheirMeans) {
  const std::vector<ComparedProfile> before = {server("1", {{"cache", 100}}), server("2", {{"cache", 110}}),
                                               server("3", {{"pool", 4}, {"cache", 90}})};
  const std::vector<ComparedProfile> after = {server("4", {{"cache", 200}}), server("5", {{"cache", 190}})};
  const Comparison result = compare(before, after);
  const double bytes = 64 / sampling_probability(64, comparison_fixture::kRate);
  ASSERT_THAT(result.growth, SizeIs(1));
  EXPECT_NEAR(result.growth[0].change.before.value, 100 * bytes, 1);
  EXPECT_NEAR(result.growth[0].change.after.value, 195 * bytes, 1);
  EXPECT_NEAR(result.growth[0].cumulative_before, 100 * bytes, 1);
  EXPECT_THAT(result.others, SizeIs(1));
}

TEST(Comparison, RowsByOtherThingsThanFunctions) {
  ComparisonOptions options;
  for (const GroupBy by : {GroupBy::kLine, GroupBy::kFile, GroupBy::kModule}) {
    options.by = by;
    const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after(), options);
    EXPECT_EQ(result.row_count(), by == GroupBy::kModule ? 1u : 5u) << group_by_name(by);
    EXPECT_THAT(result.growth, SizeIs(by == GroupBy::kModule ? 0 : 1));
  }
}

TEST(Comparison, AllIntervalsWhereTheyAreAskedFor) {
  ComparisonOptions options;
  const Comparison without = compare(comparison_fixture::before(), comparison_fixture::after(), options);
  options.has_all_intervals = true;
  const Comparison with = compare(comparison_fixture::before(), comparison_fixture::after(), options);
  EXPECT_EQ(without.others[0].change.low, without.others[0].change.value);
  EXPECT_LT(with.others[0].change.low, with.others[0].change.value);
}

TEST(Comparison, TheTreeLeadsToWhatChanged) {
  ComparisonOptions options;
  options.has_tree = true;
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after(), options);
  ASSERT_TRUE(result.tree);
  ASSERT_THAT(result.tree->nodes, SizeIs(3));
  EXPECT_EQ(result.groups[result.tree->nodes[0].groups[0]].name, "main");
  EXPECT_EQ(result.tree->nodes[1].parent, 0u);
  EXPECT_EQ(result.tree->nodes[2].parent, 0u);
}

TEST(Comparison, FilesWithoutStatisticsListEveryDifference) {
  std::vector<ComparedProfile> before = comparison_fixture::before();
  for (Stack& stack : before[0].profile.stacks) {
    for (const Metric metric : kMetrics) stack.values[metric_index(metric)] = estimated_value(stack, metric);
    stack.has_statistics = false;
  }
  before[0].profile.from_memprof = false;
  const Comparison result = compare(before, comparison_fixture::after());
  EXPECT_FALSE(result.is_tested);
  EXPECT_THAT(result.growth, SizeIs(4));
  EXPECT_THAT(result.shrinkage, SizeIs(1));
  EXPECT_FALSE(result.growth[0].is_significant);
  ASSERT_THAT(result.warnings, SizeIs(1));
  EXPECT_THAT(result.warnings[0], HasSubstr("was not written by memprof"));
}

}  // namespace
}  // namespace memprof::profile
