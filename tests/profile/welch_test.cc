// SPDX-License-Identifier: Apache-2.0
#include "profile/welch.h"

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

TEST(Welch, IsTheTextbooks) {
  // R: t.test(c(27.5,21,19,23.6,17,17.9), c(27.1,22,20.8,23.4,23.4,23.5,25.8,22,24.8,20.2,21.9,22.1,22.9))
  // checked by hand: t^2 = d^2 / (v1/6 + v2/13) with df of Welch and Satterthwaite.
  const Sample a = sample({27.5, 21, 19, 23.6, 17, 17.9});
  const Sample b = sample({27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9});
  const WelchTest test = welch_test(a, b);
  EXPECT_GT(test.p_value, 0.2);
  EXPECT_LT(test.p_value, 0.4);
  EXPECT_EQ(welch_test(b, a).p_value, test.p_value);
}

TEST(Welch, EqualSizesAndVariancesAreStudents) {
  // Two samples of 2 with variance 2 each: standard error sqrt(2), 2 degrees of freedom; the t distribution
  // with 2 has P(|T| > t) = 1 - t / sqrt(2 + t^2), and its 97.5 % quantile is 4.302653.
  const WelchTest test = welch_test(sample({0, 2}), sample({10, 12}));
  const double t = 10 / std::sqrt(2.0);
  EXPECT_NEAR(test.p_value, 1 - t / std::sqrt(2 + t * t), 1e-9);
  EXPECT_NEAR(test.half_width, 4.302653 * std::sqrt(2.0), 1e-5);
}

TEST(Welch, OneValueBorrowsTheOthersVariance) {
  // Variance 2 with one degree of freedom: error sqrt(2 / 2 + 2), P(|T| > t) = 1 - 2 atan(t) / pi.
  const double t = 9 / std::sqrt(3.0);
  const double expected = 1 - 2 * std::atan(t) / 3.14159265358979;
  EXPECT_NEAR(welch_test(sample({0, 2}), sample({10})).p_value, expected, 1e-9);
  EXPECT_NEAR(welch_test(sample({10}), sample({0, 2})).p_value, expected, 1e-9);
}

TEST(Welch, WithoutSpreadEveryDifferenceIsCertain) {
  EXPECT_EQ(welch_test(sample({5, 5}), sample({5, 5})).p_value, 1);
  EXPECT_EQ(welch_test(sample({5, 5}), sample({6})).p_value, 0);
  EXPECT_EQ(welch_test(sample({5, 5}), sample({6})).half_width, 0);
  // What rounding leaves of the sums is no spread.
  EXPECT_EQ(welch_test(sample({0.1, 0.1, 0.1}), sample({0.3, 0.3, 0.3})).p_value, 0);
  EXPECT_TRUE(has_spread(1, 2));
  EXPECT_FALSE(has_spread(1, 1));
}

}  // namespace
}  // namespace memprof::profile
