// SPDX-License-Identifier: Apache-2.0
#include "profile/text/nearest_name.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(NearestName, IsTheOneWithTheFewestOtherLetters) {
  const std::vector<std::string> names = {"peak", "live", "alloc", "alloc_objects"};
  EXPECT_EQ(nearest_name("peek", names), "peak");
  EXPECT_EQ(nearest_name("pea", names), "peak");
  EXPECT_EQ(nearest_name("lvie", names), "live");
  EXPECT_EQ(nearest_name("allok", names), "alloc");
  EXPECT_EQ(nearest_name("alloc-objects", names), "alloc_objects");
  EXPECT_EQ(nearest_name("live", names), "live");
}

TEST(NearestName, IsNoneWhereTooManyDiffer) {
  EXPECT_EQ(nearest_name("resident", {"peak", "live"}), "");
  EXPECT_EQ(nearest_name("peek", {}), "");
}

}  // namespace
}  // namespace memprof::profile
