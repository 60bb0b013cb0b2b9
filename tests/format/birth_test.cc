// SPDX-License-Identifier: Apache-2.0
#include "format/birth.h"

#include <gtest/gtest.h>

namespace memprof {
namespace {

TEST(Birth, parts_are_sixteenths_of_the_run) {
  EXPECT_EQ(birth_part(1000, 1000, 17000), 0u);
  EXPECT_EQ(birth_part(1999, 1000, 17000), 0u);
  EXPECT_EQ(birth_part(2000, 1000, 17000), 1u);
  EXPECT_EQ(birth_part(16999, 1000, 17000), 15u);
}

TEST(Birth, what_is_outside_is_in_the_first_or_last_part) {
  EXPECT_EQ(birth_part(5, 1000, 17000), 0u);
  EXPECT_EQ(birth_part(17000, 1000, 17000), 15u);
  EXPECT_EQ(birth_part(UINT64_MAX, 1000, 17000), 15u);
  EXPECT_EQ(birth_part(UINT64_MAX - 1, 0, UINT64_MAX), 15u);
  EXPECT_EQ(birth_part(1000, 1000, 1000), 0u);
}

}  // namespace
}  // namespace memprof
