// SPDX-License-Identifier: Apache-2.0
#include "format/path_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine.h"

namespace memprof::path_pattern_test {
namespace {

std::string expand(const char* pattern, const char* program = "server", size_t size = 100) {
  std::string path(size, '#');
  return expand_path(pattern, 123, program, 1700000000, path.data(), size) ? std::string(path.c_str())
                                                                           : "(none)";
}

TEST(PathPattern, PutsFactsIn) {
  EXPECT_EQ("heap.pb", expand("heap.pb"));
  EXPECT_EQ("memprof.server.123.pb.gz", expand("memprof.%n.%p.pb.gz"));
  EXPECT_EQ("/tmp/1700000000/100%-123123", expand("/tmp/%t/100%%-%p%p"));
  EXPECT_EQ("", expand(""));
  EXPECT_EQ("%p", expand("%%p"));
}

TEST(PathPattern, ANameIsOnePartOfAPath) {
  EXPECT_EQ("/tmp/_bin_a/b", expand("/tmp/%n/b", "/bin/a"));
  EXPECT_EQ("/tmp/.._etc", expand("/tmp/%n", "../etc"));
  EXPECT_EQ("a_b_", expand("%n", "a\nb\x1b"));
  EXPECT_EQ("x/__/y", expand("x/%n/y", ".."));
  EXPECT_EQ("x/_/y", expand("x/%n/y", "."));
  EXPECT_EQ("...", expand("%n", "..."));
  EXPECT_EQ("x_", expand("x%n", "."));
}

TEST(PathPattern, WhatIsWrongIsFound) {
  const auto place = [](const char* pattern) {
    const char* found = find_wrong_fact(pattern);
    return found != nullptr ? std::string(found) : "(none)";
  };
  EXPECT_EQ("(none)", place("%p%n%t%%"));
  EXPECT_EQ("%x", place("%%x%p%x"));
  EXPECT_EQ("%", place("%%%"));
  EXPECT_EQ("(none)", place(""));
  EXPECT_TRUE(has_fact("a%n%p", 'p'));
  EXPECT_FALSE(has_fact("a%%p%n%", 'p'));
}

TEST(PathPattern, RefusesOtherLettersAndALonePercentSign) {
  EXPECT_EQ("(none)", expand("%x"));
  EXPECT_EQ("(none)", expand("a%"));
  EXPECT_EQ("(none)", expand("%P"));
  EXPECT_EQ("(none)", expand("% p"));
}

TEST(PathPattern, WhatDoesNotFitIsRefused) {
  EXPECT_EQ("abc", expand("abc", "", 4));
  EXPECT_EQ("(none)", expand("abcd", "", 4));
  EXPECT_EQ("123", expand("%p", "", 4));
  EXPECT_EQ("(none)", expand("%p", "", 3));
  EXPECT_EQ("(none)", expand("%n", "long", 4));
  EXPECT_EQ("(none)", expand("a%%b", "", 3));
  EXPECT_EQ("(none)", expand("", "", 0));
}

TEST(PathPattern, NeverWritesBehindTheEnd) {
  for (size_t size = 0; size < 40; ++size) {
    const testing_support::GuardedMemory memory(size / 8 * 8);  // no slack: a byte too many is a fault
    expand_path("/tmp/%n/%p.%t.%%", UINT64_MAX, "a/b", UINT64_MAX, reinterpret_cast<char*>(memory.data()),
                memory.size());
  }
}

TEST(PathPattern, FormatsAnyNumber) {
  char digits[21];
  for (const uint64_t n :
       {uint64_t{0}, uint64_t{9}, uint64_t{10}, uint64_t{1234567890}, uint64_t{UINT64_MAX}}) {
    EXPECT_EQ(std::to_string(n).size(), format_decimal(n, digits));
    EXPECT_EQ(std::to_string(n), digits);
  }
}

}  // namespace
}  // namespace memprof::path_pattern_test
