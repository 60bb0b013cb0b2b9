// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/rewrite.h"

#include <gtest/gtest.h>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

TEST(Rewrite, TheWholeTextMatches) {
  const Rewrite rewrite("a|b", "x");
  EXPECT_TRUE(rewrite.matches("a"));
  EXPECT_FALSE(rewrite.matches("ab"));
  EXPECT_EQ(rewrite.apply("ab"), std::nullopt);
  EXPECT_EQ(rewrite.apply("b"), "x");
}

TEST(Rewrite, GroupsByNumberAndByName) {
  EXPECT_EQ(Rewrite("(a+)(?P<rest>b*)", "<$1|${1}|${rest}|$rest|$0|$$1>").apply("aab"), "<aa|aa|b|b|aab|$1>");
  EXPECT_EQ(Rewrite("(a)?b", "[$1]").apply("b"), "[]") << "a group that took no part";
  EXPECT_EQ(Rewrite("(.*)", "").apply("x"), "");
  EXPECT_EQ(Rewrite("(.*)", "$1").apply(""), "");
}

std::string refusal(const std::string& expression, const std::string& form) {
  try {
    const Rewrite rewrite(expression, form);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Rewrite, WhatIsWrongIsSaid) {
  EXPECT_EQ(refusal("(", "x"), "'(' is not a regular expression: missing ): (");
  EXPECT_EQ(refusal("(a)", "$2"), "'$2' names the group '2', which '(a)' does not have");
  EXPECT_EQ(refusal("(a)", "$1x"),
            "'$1x' names the group '1x', which '(a)' does not have; write ${1} where letters follow");
  EXPECT_EQ(refusal("(a)", "$99999999999999999999"),
            "'$99999999999999999999' names the group '99999999999999999999', which '(a)' does not have");
  for (const char* form : {"a$", "${1", "${}", "$-"}) {
    EXPECT_EQ(refusal("(a)", form),
              std::string("'") + form + "': $ begins a group, like $1 or ${name}; write $$ for a dollar");
  }
}

}  // namespace
}  // namespace memprof::profile
