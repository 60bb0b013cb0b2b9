// SPDX-License-Identifier: Apache-2.0
#include "profile/text/bar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

TEST(Bar, IsAsLongAsTheShare) {
  EXPECT_EQ(share_bar(1, 4, true), "████");
  EXPECT_EQ(share_bar(0.5, 4, true), "██");
  EXPECT_EQ(share_bar(0.4, 4, true), "█▋") << "13 eighths";
  EXPECT_EQ(share_bar(0.5, 4, false), "##");
  EXPECT_EQ(share_bar(-0.5, 4, true), "██");
}

TEST(Bar, WhatIsNotNothingIsSeen) {
  EXPECT_EQ(share_bar(1e-9, 10, true), "▏");
  EXPECT_EQ(share_bar(1e-9, 10, false), "#");
  EXPECT_EQ(share_bar(0, 10, true), "");
  EXPECT_EQ(share_bar(0.5, 0, true), "");
}

TEST(Bar, IsNeverWiderThanAsked) {
  EXPECT_EQ(share_bar(7, 3, true), "███");
  EXPECT_EQ(share_bar(INFINITY, 3, true), "");
  EXPECT_EQ(share_bar(NAN, 3, true), "");
  for (double share = 0; share <= 1; share += 0.01) {
    EXPECT_LE(text_width(share_bar(share, 7, true)), 7U);
    EXPECT_EQ(text_width(bar_cell(share, true)), 10U);
    EXPECT_EQ(text_width(bar_cell(share, false)), 10U);
  }
}

}  // namespace
}  // namespace memprof::profile
