// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/function_match.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

const std::vector<std::string> kNames = {"insert",
                                         "ns::Cache::insert(Key const&)",
                                         "void fill<int>(std::vector<int>&)",
                                         "Cache::insert_all(int)",
                                         "operator new(unsigned long)",
                                         "main::{lambda(int)#1}::operator()(int) const",
                                         "server+0x120"};

std::string found(const std::string& text) {
  std::string all;
  for (const uint32_t i : find_functions(kNames, text).functions) all += kNames[i] + "; ";
  return all;
}

TEST(FunctionMatch, TheWholeNameIsThatFunctionAlone) {
  EXPECT_EQ(found("insert"), "insert; ");
  EXPECT_EQ(found("ns::Cache::insert(Key const&)"), "ns::Cache::insert(Key const&); ");
  EXPECT_EQ(found("operator new(unsigned long)"), "operator new(unsigned long); ");
  EXPECT_EQ(found("server+0x120"), "server+0x120; ");
}

TEST(FunctionMatch, ANameWithoutParametersAndNamespaces) {
  EXPECT_EQ(found("Cache::insert"), "ns::Cache::insert(Key const&); ");
  EXPECT_EQ(found("fill"), "void fill<int>(std::vector<int>&); ");
  EXPECT_EQ(found("operator new"), "operator new(unsigned long); ");
  EXPECT_EQ(found("operator()"), "main::{lambda(int)#1}::operator()(int) const; ");
}

TEST(FunctionMatch, ANameAsTablesShowIt) {
  EXPECT_EQ(found("fill<>(std::vector<>&)"), "void fill<int>(std::vector<int>&); ");
  const std::vector<std::string> names = {"f",      "f.isra.0",       "f.part.1",
                                          "g.cold", "Pool<A>::get()", "Pool<B>::get()"};
  EXPECT_EQ(find_functions(names, "f").functions, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(find_functions(names, "f.isra.0").functions, (std::vector<uint32_t>{1}));
  EXPECT_EQ(find_functions(names, "g").functions, (std::vector<uint32_t>{3}));
  EXPECT_EQ(find_functions(names, "Pool<>::get()").functions, (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(find_functions(names, "Pool<B>::get()").functions, (std::vector<uint32_t>{5}));
}

TEST(FunctionMatch, APartOfANameThenAnExpression) {
  EXPECT_EQ(found("insert_"), "Cache::insert_all(int); ");
  EXPECT_EQ(found("Cache::ins"), "ns::Cache::insert(Key const&); Cache::insert_all(int); ");
  EXPECT_EQ(found("^Cache.*all"), "Cache::insert_all(int); ");
  EXPECT_EQ(found("(?i)^INSERT$"), "insert; ");
}

TEST(FunctionMatch, SuggestsWhatIsClose) {
  const FunctionMatch match = find_functions(kNames, "inserl_all");
  EXPECT_TRUE(match.functions.empty());
  ASSERT_FALSE(match.suggestions.empty());
  EXPECT_EQ(match.suggestions[0], "Cache::insert_all(int)");
  EXPECT_EQ(find_functions(kNames, "INSERT").suggestions.size(), 3u) << "other letters";
  EXPECT_TRUE(find_functions(kNames, "completely_different").suggestions.empty());
  EXPECT_LE(find_functions(std::vector<std::string>(10, "abcd"), "abce").suggestions.size(), 3u);
}

TEST(FunctionMatch, WhatIsNoExpressionEitherSaysWhy) {
  EXPECT_EQ(find_functions(kNames, "zz").pattern_error, "");
  EXPECT_NE(find_functions(kNames, "[[").pattern_error.find("missing ]"), std::string::npos);
}

TEST(FunctionMatch, BearsHugeNames) {
  const std::string huge = "f<" + std::string(1 << 20, '<') + std::string(1 << 20, '>') + ">()";
  EXPECT_EQ(find_functions({huge}, "g").functions.size(), 0u);
  EXPECT_EQ(find_functions({huge}, "f").functions.size(), 1u);
}

}  // namespace
}  // namespace memprof::profile
