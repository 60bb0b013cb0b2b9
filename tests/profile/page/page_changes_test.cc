// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_changes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

TEST(PageChanges, ListsWhatIsMoreThanChanceForEachMetric) {
  const auto changes = page_changes(comparison_fixture::before(), comparison_fixture::after());
  EXPECT_EQ(changes.size(), 4u);
  const auto& live = changes.at("inuse_space");
  EXPECT_EQ(live.at("is_tested"), true);
  std::set<std::string> names;
  for (const auto& row : live.at("rows")) {
    names.insert(row.at("name").get<std::string>());
    EXPECT_LT(row.at("low").get<double>(), row.at("high").get<double>());
  }
  EXPECT_EQ(names, (std::set<std::string>{"cache", "pool"}));
}

TEST(PageChanges, HasTheMetricsThatBothHave) {
  auto before = comparison_fixture::before();
  before[0].profile.has_metric = {false, false, true, true};
  const auto changes = page_changes(before, comparison_fixture::after());
  EXPECT_EQ(changes.size(), 2u);
  EXPECT_TRUE(changes.contains("inuse_objects"));
}

TEST(PageChanges, WithoutStatisticsAllThatDiffersIsListedWithoutIntervals) {
  auto before = comparison_fixture::before();
  for (Stack& stack : before[0].profile.stacks) {
    stack.has_statistics = false;
    stack.values = {1, 64, 1, 64};
  }
  const auto changes = page_changes(before, comparison_fixture::after());
  EXPECT_EQ(changes.at("inuse_space").at("is_tested"), false);
  ASSERT_FALSE(changes.at("inuse_space").at("rows").empty());
  EXPECT_TRUE(changes.at("inuse_space").at("rows")[0].at("low").is_null());
}

}  // namespace
}  // namespace memprof::profile
