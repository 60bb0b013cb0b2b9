// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/distributions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace memprof::profile {
namespace {

TEST(Distributions, StudentsHasItsTailsAndQuantiles) {
  // With 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t^2).
  EXPECT_NEAR(student_tails(9, 2), 1 - 3 / std::sqrt(11.0), 1e-12);
  EXPECT_EQ(student_tails(0, 5), 1);
  EXPECT_NEAR(student_quantile(2), 4.302653, 1e-5);
  EXPECT_NEAR(student_quantile(10), 2.228139, 1e-5);
  for (const double free : {1.0, 3.5, 40.0}) {
    const double quantile = student_quantile(free, 0.01);
    EXPECT_NEAR(student_tails(quantile * quantile, free), 0.01, 1e-9) << free;
  }
}

TEST(Distributions, BinomialTails) {
  // Of 10 throws 9 or more are heads with (10 + 1) / 1024.
  EXPECT_NEAR(binomial_tail(9, 10, 0.5), 11.0 / 1024, 1e-12);
  EXPECT_EQ(binomial_tail(0, 10, 0.5), 1);
  EXPECT_NEAR(binomial_tail(3, 3, 0.1), 0.001, 1e-12);
}

TEST(Distributions, PoissonHeadsAndIntervals) {
  EXPECT_NEAR(poisson_head(0, 2), std::exp(-2), 1e-12);
  EXPECT_NEAR(poisson_head(1, 2), 3 * std::exp(-2), 1e-12);
  EXPECT_EQ(poisson_head(0, 0), 1);
  const PoissonInterval none = poisson_interval(0);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, -std::log(0.025), 1e-9);
  const PoissonInterval ten = poisson_interval(10);
  EXPECT_NEAR(1 - poisson_head(9, ten.low), 0.025, 1e-9);
  EXPECT_NEAR(poisson_head(10, ten.high), 0.025, 1e-9);
}

TEST(Distributions, NonsenseIsNoNumberAndDoesNotThrow) {
  EXPECT_TRUE(std::isnan(student_tails(std::nan(""), 3)));
}

}  // namespace
}  // namespace memprof::profile
