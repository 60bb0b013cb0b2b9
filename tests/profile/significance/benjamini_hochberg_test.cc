// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/benjamini_hochberg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BenjaminiHochberg, OneValueStaysWhatItIs) {
  EXPECT_THAT(benjamini_hochberg({0.03}), ElementsAre(0.03));
  EXPECT_THAT(benjamini_hochberg({}), IsEmpty());
}

TEST(BenjaminiHochberg, IsTheTextbooks) {
  // p * n / rank, and never more than that of a larger p.
  EXPECT_THAT(benjamini_hochberg({0.04, 0.01, 0.03, 0.5}),
              ElementsAre(DoubleEq(0.04 * 4 / 3), DoubleEq(0.04), DoubleEq(0.04 * 4 / 3), DoubleEq(0.5)));
}

TEST(BenjaminiHochberg, NothingIsMoreThanOne) {
  EXPECT_THAT(benjamini_hochberg({0.9, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(benjamini_hochberg({0, 0, 1}), ElementsAre(0, 0, 1));
}

}  // namespace
}  // namespace memprof::profile
