// SPDX-License-Identifier: Apache-2.0
#include "profile/text/signed_rounding.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(SignedRounding, KeepsTheSumsOfBothSigns) {
  SignedRounding rounding;
  int64_t more = 0;
  int64_t less = 0;
  for (int i = 0; i < 1000; ++i) {
    more += rounding.round(0.3);
    less += rounding.round(-1.7);
  }
  EXPECT_EQ(more, 300);
  EXPECT_EQ(less, -1700);
  EXPECT_EQ(rounding.round(0), 0);
}

}  // namespace
}  // namespace memprof::profile
