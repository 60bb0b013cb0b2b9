// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/slope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace memprof::profile {
namespace {

TEST(Slope, is_that_of_the_line) {
  const auto slope = slope_of({{0, 10}, {1, 19}, {2, 31}, {3, 40}, {4, 49}, {5, 61}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, 10.5, 1e-9);  // the last three
  EXPECT_LT(slope->low, 10);
  EXPECT_GT(slope->high, 11);
  EXPECT_LT(slope->p_value, 0.05);
}

// By a table of Student's distribution: with two degrees of freedom 4.303 standard errors.
TEST(Slope, has_the_interval_of_student) {
  const auto slope = slope_of({{-4, 0}, {-3, 0}, {-2, 0}, {0, 1}, {1, -1}, {2, 1}, {3, -1}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, -0.4, 1e-9);
  EXPECT_NEAR(slope->high - slope->bytes_per_minute, 4.303 * std::sqrt(3.2 / 2 / 5), 1e-3);
  EXPECT_EQ(slope->p_value, 1);
}

TEST(Slope, leaves_the_beginning_out) {
  const auto slope = slope_of({{0, 0}, {1, 100}, {2, 200}, {3, 300}, {4, 301}, {5, 299}, {6, 300}, {7, 300}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, 0, 1);
  EXPECT_LT(slope->low, 0);
}

TEST(Slope, needs_three_looks_at_different_times) {
  EXPECT_FALSE(slope_of({{0, 1}, {1, 2}}));
  EXPECT_FALSE(slope_of({{1, 1}, {1, 2}, {1, 3}}));
  const auto exact = slope_of({{0, 1}, {1, 2}, {2, 3}});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->p_value, 0);
  EXPECT_NEAR(exact->low, 1, 1e-9);
}

}  // namespace
}  // namespace memprof::profile
