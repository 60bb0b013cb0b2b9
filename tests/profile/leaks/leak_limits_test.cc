// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leak_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

Leaks two_suspects() {
  Leaks leaks;
  leaks.rows.resize(2);
  leaks.rows[0].place.name = "first";
  leaks.rows[0].growth = {3000, 2500, 3500};
  leaks.rows[1].growth = {1000, 800, 1200};
  leaks.suspects = 2;
  leaks.growth = {4000, 3400, 4600};
  return leaks;
}

bool is_exceeded(const char* limit) {
  return check_leak_limit(two_suspects(), parse_leak_limit(limit)).is_exceeded;
}

TEST(LeakLimits, the_low_end_of_the_interval_counts) {
  EXPECT_TRUE(is_exceeded("growth > 3399"));
  EXPECT_FALSE(is_exceeded("growth > 3400"));
  EXPECT_TRUE(is_exceeded("growth >= 3400"));
  EXPECT_TRUE(is_exceeded("row>2k"));
  EXPECT_FALSE(is_exceeded("row > 2500"));
  EXPECT_TRUE(is_exceeded("growth > 0"));
}

TEST(LeakLimits, results_say_what_grows) {
  EXPECT_THAT(check_leak_limit(two_suspects(), parse_leak_limit("row > 1k")).what,
              HasSubstr("first: 2.9 KiB"));
  EXPECT_THAT(check_leak_limit(two_suspects(), parse_leak_limit("row > 1M")).what,
              HasSubstr("the fastest: "));
  EXPECT_EQ(check_leak_limit({}, parse_leak_limit("growth >= 0")).what, "no suspect");
  EXPECT_FALSE(check_leak_limit({}, parse_leak_limit("growth >= 0")).is_exceeded);
}

TEST(LeakLimits, what_is_no_limit_is_named) {
  const std::pair<const char*, const char*> cases[] = {{"5MB", "'5MB': it has no '>'"},
                                                       {"> 5MB", "what is limited is missing"},
                                                       {"peak > 5MB", "'peak' is not growth or row"},
                                                       {"growth >", "how much is missing"},
                                                       {"growth > 10%", "'10%' is no amount"}};
  for (const auto& [text, expected] : cases) {
    try {
      parse_leak_limit(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(expected));
      EXPECT_THAT(error.what(), HasSubstr("it is written"));
    }
  }
}

}  // namespace
}  // namespace memprof::profile
