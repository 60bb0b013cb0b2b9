// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/pattern.h"

#include <gtest/gtest.h>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

TEST(Pattern, IsFoundAnywhere) {
  const Pattern pattern("ins.rt");
  EXPECT_TRUE(pattern.is_in("Cache::insert(int)"));
  EXPECT_FALSE(pattern.is_in("Cache::INSERT(int)"));
  EXPECT_TRUE(Pattern("(?i)insert").is_in("Cache::INSERT(int)"));
  EXPECT_FALSE(Pattern("^insert").is_in("Cache::insert(int)"));
  EXPECT_EQ(pattern.text(), "ins.rt");
}

TEST(Pattern, SaysWhatIsWrongWithIt) {
  for (const char* text : {"[", "(", "*", "a{1001}", "(?=x)", "\xff"}) {
    try {
      const Pattern pattern(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("'" + std::string(text) + "' is not a regular expression: "),
                0u);
    }
  }
}

// std::regex overflows the stack on these.
TEST(Pattern, BearsNamesOfAnyLength) {
  const std::string name = std::string(4 << 20, 'x') + "y";
  EXPECT_TRUE(Pattern("(x|z)*y$").is_in(name));
  EXPECT_FALSE(Pattern("(x+x+)+z").is_in(name));
}

TEST(Pattern, BearsNamesThatAreNotUtf8) {
  EXPECT_TRUE(Pattern("tail").is_in("\xff\xfe tail"));
}

}  // namespace
}  // namespace memprof::profile
