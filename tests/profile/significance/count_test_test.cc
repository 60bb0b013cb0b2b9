// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/count_test.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(CountTest, IsThrowsOfACoin) {
  // Of 10 throws 9 or more are heads with (10 + 1) / 1024.
  EXPECT_NEAR(count_test(9, 1), 2 * 11.0 / 1024, 1e-12);
  EXPECT_NEAR(count_test(1, 9), 2 * 11.0 / 1024, 1e-12);
  EXPECT_NEAR(count_test(0, 20), 2 / 1048576.0, 1e-15);
}

TEST(CountTest, WhatIsAlikeDiffersByChance) {
  EXPECT_EQ(count_test(5, 5), 1);
  EXPECT_EQ(count_test(0, 0), 1);
  EXPECT_EQ(count_test(0, -1), 1) << "nothing on both sides";
  EXPECT_GT(count_test(1000, 1010), 0.5);
  // Three standard deviations of the difference, sqrt(2000).
  EXPECT_NEAR(count_test(1000, 1000 + 3 * 44.7), 0.0035, 0.002);
}

}  // namespace
}  // namespace memprof::profile
