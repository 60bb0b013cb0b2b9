// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/change_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace memprof::profile {
namespace {

// Means of days, of values each hour that wander: their correlation falls to 1/e in so many hours.
struct ChangePlan {
  size_t rows = 20;
  size_t days = 14;
  double hours = 3;
  double step = 0;  // of row 3, after day 7.5
  double growth = 0;
};

std::vector<ChangeRow> wandering_rows(const ChangePlan& plan, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const double keep = std::exp(-1 / plan.hours);
  std::vector<std::vector<double>> days;
  for (size_t row = 0; row <= plan.rows; ++row) {  // the last: of all rows together
    std::vector<double>& of_row = days.emplace_back();
    double value = normal(random);
    for (size_t day = 0; day < plan.days; ++day) {
      double sum = 0;
      for (int hour = 0; hour < 24; ++hour) {
        value = keep * value + std::sqrt(1 - keep * keep) * normal(random);
        sum += value / 24;
      }
      of_row.push_back(sum);
    }
  }
  std::vector<ChangeRow> rows(plan.rows);
  for (size_t row = 0; row < plan.rows; ++row) {
    for (size_t day = 0; day < plan.days; ++day) {
      double level = 100;
      if (row == 3) {
        level += plan.step * std::min(1.0, std::max(0.0, static_cast<double>(day) - 6.5));
        level += plan.growth * std::max(0.0, static_cast<double>(day) - 7);
      }
      rows[row].values.push_back(level + 2 * (days[row][day] + days[plan.rows][day]));
    }
  }
  return rows;
}

// At most 1 % of runs: of 200 the odds of more than 10 are less than 1e-4 where it is 1 %.
TEST(ChangeTest, FalseAlarmsAreAsFewAsStated) {
  for (const double hours : {0.1, 3.0, 6.0}) {
    ChangePlan plan;
    plan.hours = hours;
    int named = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const ChangeTest test = change_test(wandering_rows(plan, seed), 0.01, 1);
      named +=
          std::any_of(test.p_values.begin(), test.p_values.end(), [](double p) { return p <= 0.01; }) ? 1 : 0;
    }
    EXPECT_LE(named, 10) << hours;
  }
}

// A rate that is not kept is seen: values that are correlated for days are what this looks for.
TEST(ChangeTest, WhatWandersForDaysIsAChange) {
  ChangePlan plan;
  plan.hours = 200;
  int named = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ChangeTest test = change_test(wandering_rows(plan, seed), 0.01, 1);
    named +=
        std::any_of(test.p_values.begin(), test.p_values.end(), [](double p) { return p <= 0.01; }) ? 1 : 0;
  }
  EXPECT_GE(named, 4);
}

TEST(ChangeTest, AStepIsFoundAndItsTime) {
  ChangePlan plan;
  plan.step = 20;
  const std::vector<ChangeRow> rows = wandering_rows(plan, 1);
  const ChangeTest test = change_test(rows, 0.01, 1);
  for (size_t row = 0; row < rows.size(); ++row) EXPECT_EQ(test.p_values[row] <= 0.01, row == 3) << row;
  EXPECT_EQ(test.shuffles, 999U);
  std::vector<double> begins;
  for (size_t day = 0; day < plan.days; ++day) begins.push_back(static_cast<double>(day));
  const ChangeFit fit = fit_change(rows[3], begins);
  EXPECT_EQ(fit.shape, ChangeShape::kStep);
  EXPECT_LE(fit.low_time, 7.5);
  EXPECT_GE(fit.high_time, 7.5);
  EXPECT_LE(fit.high_time - fit.low_time, 1);
  EXPECT_NEAR(fit.after - fit.before, 20, 3 * fit.change_error);
  EXPECT_NEAR(fit.before, 100, 2.5);
  EXPECT_NEAR(fit.after, 120, 2.5);
}

TEST(ChangeTest, GrowthIsToldFromAStep) {
  ChangePlan plan;
  plan.days = 21;
  plan.growth = 4;
  const std::vector<ChangeRow> rows = wandering_rows(plan, 2);
  EXPECT_LE(change_test(rows, 0.01, 1).p_values[3], 0.01);
  std::vector<double> begins;
  for (size_t day = 0; day < plan.days; ++day) begins.push_back(static_cast<double>(day));
  const ChangeFit fit = fit_change(rows[3], begins);
  EXPECT_EQ(fit.shape, ChangeShape::kGrowth);
  EXPECT_NEAR(fit.growth, 4, 4 * fit.growth_error);
  EXPECT_LE(fit.low_time, 7.5);
  EXPECT_GE(fit.high_time, 7.5);
  EXPECT_NEAR(fit.before, 100, 3);
}

TEST(ChangeTest, WhatIsTooSmallOrConstantIsNone) {
  ChangeRow row;
  for (int day = 0; day < 20; ++day) row.values.push_back(day < 10 ? 100 : 101);
  EXPECT_LE(change_test({row}, 0.01, 1).p_values[0], 0.01);
  row.min_change = 1.5;
  EXPECT_EQ(change_test({row}, 0.01, 1).p_values[0], 1);
  row = {std::vector<double>(20, 100), 0, 0};
  EXPECT_EQ(change_test({row}, 0.01, 1).p_values[0], 1);
  EXPECT_TRUE(change_test({}, 0.01, 1).p_values.empty());
  EXPECT_EQ(change_test({{{1, 2}, 0, 0}}, 0.01, 1).p_values[0], 1);
}

TEST(ChangeTest, AnErrorIsNoLessThanWhatIsKnown) {
  ChangeRow row;
  std::vector<double> begins;
  for (int day = 0; day < 20; ++day) {
    row.values.push_back(day < 10 ? 100 : 101);
    begins.push_back(day);
  }
  EXPECT_NEAR(fit_change(row, begins).change_error, 0.1 * std::sqrt(0.2), 0.01) << "a thousandth of a value";
  row.min_variance = 100;
  const ChangeFit fit = fit_change(row, begins);
  EXPECT_NEAR(fit.change_error, 10 * std::sqrt(0.2), 1e-9);
  EXPECT_EQ(fit.shape, ChangeShape::kUnclear);
  EXPECT_NEAR(fit.high_time - fit.low_time, 20, 2.1) << "at any time";
}

TEST(ChangeTest, FewBlocksSayNothing) {
  // A step in the middle of 10: one of C(10, 5) / 2 = 126 orders.
  EXPECT_EQ(min_blocks(0.01), 10U);
  EXPECT_EQ(min_blocks(0.05), 8U);    // 2 / 70
  EXPECT_EQ(min_blocks(0.001), 14U);  // 2 / 3432; 13: 2 / 1716 = 0.0012
  EXPECT_EQ(min_blocks(0.9), 5U);
  ChangeRow row;
  for (int day = 0; day < 9; ++day) row.values.push_back(day < 5 ? 100 : 200);
  EXPECT_GT(change_test({row}, 0.01, 1).p_values[0], 0.01);
}

}  // namespace
}  // namespace memprof::profile
