// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ComparisonJunit, EachLimitIsATestCase) {
  const std::string text = comparison_junit(
      {{"growth > 5MB", true, "a \"big\" one"}, {"alloc > 1%", false, "fine"}}, "1 < 2 & 3\n");
  EXPECT_THAT(text, HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(
      text,
      HasSubstr("name=\"growth &gt; 5MB\">\n<failure message=\"a &quot;big&quot; one\"/>\n</testcase>"));
  EXPECT_THAT(text, HasSubstr("name=\"alloc &gt; 1%\"/>"));
  EXPECT_THAT(text, HasSubstr("<system-out>1 &lt; 2 &amp; 3\n</system-out>"));
  EXPECT_THAT(text, Not(HasSubstr("fine")));
}

}  // namespace
}  // namespace memprof::profile
