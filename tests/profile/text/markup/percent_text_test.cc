// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/percent_text.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(PercentText, WhatIsNoNumberStays) {
  EXPECT_EQ(without_percents("a%20b%2Fc%zz%2"), "a b/c%zz%2");
  EXPECT_EQ(without_percents("%41"), "A");
  EXPECT_EQ(without_percents("%"), "%");
}

}  // namespace
}  // namespace memprof::profile
