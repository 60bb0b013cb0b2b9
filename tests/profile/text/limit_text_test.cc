// SPDX-License-Identifier: Apache-2.0
#include "profile/text/limit_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(LimitText, HasWhatAndHowMuch) {
  const LimitText growth = parse_limit_text(" growth >= 5 MB ", LimitPercent::kRefused, "how");
  EXPECT_EQ(growth.text, " growth >= 5 MB ");
  EXPECT_EQ(growth.what, "growth");
  EXPECT_EQ(growth.amount, 5.0 * 1024 * 1024);
  EXPECT_TRUE(growth.may_be_equal);
  EXPECT_FALSE(growth.is_percent);
  const LimitText alloc = parse_limit_text("alloc>10.5 %", LimitPercent::kAllowed, "how");
  EXPECT_EQ(alloc.amount, 10.5);
  EXPECT_TRUE(alloc.is_percent);
  EXPECT_FALSE(alloc.may_be_equal);
}

TEST(LimitText, WhatIsNoneIsNamed) {
  const std::pair<const char*, const char*> cases[] = {{"", "no '>'"},
                                                       {"growth 5MB", "no '>'"},
                                                       {"> 5", "what is limited is missing"},
                                                       {"a >", "how much"},
                                                       {"a > x", "'x' is no amount"},
                                                       {"a > -1", "'-1' is no amount"},
                                                       {"a > ten%", "'ten%' is"},
                                                       {"a > -1%", "percentage"}};
  for (const auto& [text, expected] : cases) {
    try {
      parse_limit_text(text, LimitPercent::kAllowed, "how");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr(expected), HasSubstr("'" + std::string(text) + "'"), EndsWith("; how")));
    }
  }
  EXPECT_THROW(parse_limit_text("a > 10%", LimitPercent::kRefused, "how"), Error);
}

TEST(LimitText, NothingThatShrankIsOver) {
  LimitText limit;
  EXPECT_TRUE(is_over_limit(limit, 6, 5));
  EXPECT_FALSE(is_over_limit(limit, 5, 5));
  EXPECT_FALSE(is_over_limit(limit, 0, 0));
  limit.may_be_equal = true;
  EXPECT_TRUE(is_over_limit(limit, 5, 5));
  EXPECT_FALSE(is_over_limit(limit, 0, 0));
  EXPECT_FALSE(is_over_limit(limit, -5, 0));
}

}  // namespace
}  // namespace memprof::profile
