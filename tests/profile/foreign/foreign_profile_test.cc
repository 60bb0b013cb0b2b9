// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/foreign_profile.h"

#include <gtest/gtest.h>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

TEST(ForeignProfile, IsKnownByWhatItBeginsWith) {
  EXPECT_TRUE(read_foreign("heap_v2/1\n", "x").has_value());
  EXPECT_TRUE(read_foreign("heap profile: 0: 0 [0: 0] @ heapprofile\n", "x").has_value());
  EXPECT_TRUE(read_foreign(R"( {"head":{"callFrame":{},"selfSize":0}})", "x").has_value());
  EXPECT_FALSE(read_foreign("", "x").has_value());
  EXPECT_FALSE(read_foreign("\x1f\x8b", "x").has_value());
  EXPECT_FALSE(read_foreign("[1]", "x").has_value());
  EXPECT_FALSE(read_foreign_file("/nowhere/x").has_value());
}

}  // namespace
}  // namespace memprof::profile
