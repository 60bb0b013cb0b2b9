// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/spread_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

namespace memprof::profile {
namespace {

Sample sample(std::initializer_list<double> values) {
  Sample s;
  for (const double value : values) {
    s.count += 1;
    s.sum += value;
    s.squares += value * value;
  }
  return s;
}

TEST(SpreadTest, IsTheTextbooks) {
  // An example of Welch's test: means 21 and 23.07, and so far from certain.
  const Sample a = sample({27.5, 21, 19, 23.6, 17, 17.9});
  const Sample b = sample({27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9});
  const SpreadTest test = spread_test(a, b);
  EXPECT_GT(test.p_value, 0.2);
  EXPECT_LT(test.p_value, 0.4);
  EXPECT_EQ(spread_test(b, a).p_value, test.p_value);
}

TEST(SpreadTest, EqualSizesAndVariancesAreStudents) {
  // Two samples of 2 with variance 2 each: standard error sqrt(2), 2 degrees of freedom; the t distribution
  // with 2 has P(|T| > t) = 1 - t / sqrt(2 + t^2), and its 97.5 % quantile is 4.302653.
  const SpreadTest test = spread_test(sample({0, 2}), sample({10, 12}));
  const double t = 10 / std::sqrt(2.0);
  EXPECT_NEAR(test.p_value, 1 - t / std::sqrt(2 + t * t), 1e-9);
  EXPECT_NEAR(test.half_width, 4.302653 * std::sqrt(2.0), 1e-5);
}

TEST(SpreadTest, OneValueBorrowsTheOthersVariance) {
  // Variance 2 with one degree of freedom: error sqrt(2 / 2 + 2), P(|T| > t) = 1 - 2 atan(t) / pi.
  const double t = 9 / std::sqrt(3.0);
  const double expected = 1 - 2 * std::atan(t) / 3.14159265358979;
  EXPECT_NEAR(spread_test(sample({0, 2}), sample({10})).p_value, expected, 1e-9);
  EXPECT_NEAR(spread_test(sample({10}), sample({0, 2})).p_value, expected, 1e-9);
}

TEST(SpreadTest, WhatScattersAsSamplingDoesSaysNothingMore) {
  Sample a = sample({99, 101, 100});
  Sample b = sample({104, 105, 106});
  a.sampling_variance = b.sampling_variance = 4;
  EXPECT_EQ(spread_test(a, b).p_value, 0);
  EXPECT_EQ(spread_test(a, b).half_width, 0);
}

TEST(SpreadTest, WhatScattersMoreIsOneFactorForBothSides) {
  // Variances 25 and 1 where sampling makes 1: a factor of 13, and four degrees of freedom.
  Sample a = sample({95, 100, 105});
  Sample b = sample({109, 110, 111});
  a.sampling_variance = b.sampling_variance = 1;
  const double variance = 13 * (1.0 / 3 + 1.0 / 3);
  // P(|T| > t) with four degrees of freedom: 1 - sin(x) (1 + cos(x)^2 / 2), tan(x) = t / 2.
  const double x = std::atan(10 / std::sqrt(variance) / 2);
  EXPECT_NEAR(spread_test(a, b).p_value, 1 - std::sin(x) * (1 + std::cos(x) * std::cos(x) / 2), 1e-9);
  EXPECT_NEAR(spread_test(a, b).half_width, 2.776445 * std::sqrt(variance), 1e-4);
  // One value beside three has the factor of the three.
  Sample one = sample({110});
  one.sampling_variance = 1;
  const double of_one = 25 * (1.0 / 3 + 1);
  const double t = 10 / std::sqrt(of_one);
  EXPECT_NEAR(spread_test(a, one).p_value, 1 - t / std::sqrt(2 + t * t), 1e-9);
}

TEST(SpreadTest, WithoutSpreadEveryDifferenceIsCertain) {
  EXPECT_EQ(spread_test(sample({5, 5}), sample({5, 5})).p_value, 1);
  EXPECT_EQ(spread_test(sample({5, 5}), sample({6})).p_value, 0);
  EXPECT_EQ(spread_test(sample({5, 5}), sample({6})).half_width, 0);
  // What rounding leaves of the sums is no spread.
  EXPECT_EQ(spread_test(sample({0.1, 0.1, 0.1}), sample({0.3, 0.3, 0.3})).p_value, 0);
  EXPECT_TRUE(has_spread(1, 2));
  EXPECT_FALSE(has_spread(1, 1));
}

}  // namespace
}  // namespace memprof::profile
