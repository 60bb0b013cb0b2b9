// SPDX-License-Identifier: Apache-2.0
#include "profile/short_name.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ShortName, WhatFitsStays) {
  EXPECT_EQ(short_name("main", 4), "main");
  EXPECT_EQ(short_name("f(int)", 6), "f(int)");
}

TEST(ShortName, ParametersGoFirstThenTemplateArguments) {
  const std::string name = "std::map<int, std::vector<int> >::insert(std::pair<int, int> const&)";
  EXPECT_EQ(short_name(name, 50), "std::map<int, std::vector<int> >::insert(…)");
  EXPECT_EQ(short_name(name, 30), "std::map<…>::insert(…)");
  EXPECT_EQ(short_name("f()", 3), "f()");
  EXPECT_EQ(short_name("a_long_one<int>::f() const", 24), "a_long_one<…>::f() const");
}

TEST(ShortName, TheMiddleGoesLast) {
  EXPECT_EQ(short_name("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(short_name("abcdefghij", 4), "ab…j");
  EXPECT_EQ(short_name("abcdefghij", 1), "…");
  EXPECT_EQ(short_name("abcdefghij", 0), "");
}

TEST(ShortName, OperatorsAreNoBrackets) {
  EXPECT_EQ(short_name("operator<<(std::ostream&, Thing const&)", 20), "operator<<(…)");
  EXPECT_EQ(short_name("Thing<int>::operator->(int, int) const", 32), "Thing<int>::operator->(…) const");
  EXPECT_EQ(short_name("Thing<a_long_type>::operator()(int) const", 33), "Thing<…>::operator()(…) const");
  EXPECT_EQ(short_name("my_operator<a_long_type>(int)", 22), "my_operator<…>(…)");
}

TEST(ShortName, AnonymousNamespacesStay) {
  EXPECT_EQ(short_name("(anonymous namespace)::f(int, int, int)", 30), "(anonymous namespace)::f(…)");
}

TEST(ShortName, NeverWiderThanAsked) {
  const std::string names[] = {"a<b<c>",   "f(((", ">>>><<<<", "größe_der_überschrift::öffnen(ä, ö)",
                               "operator", ""};
  for (const std::string& name : names) {
    for (size_t width = 0; width < 40; ++width) {
      EXPECT_LE(text_width(short_name(name, width)), width) << name << " " << width;
    }
  }
}

TEST(ShortName, CountsCharactersAndCutsBetweenThem) {
  EXPECT_EQ(text_width("größe…"), 6u);
  EXPECT_EQ(short_name("ääääääääää", 5), "ää…ää");
}

}  // namespace
}  // namespace memprof::profile
