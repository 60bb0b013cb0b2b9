// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_limit(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool is_exceeded(const Comparison& comparison, const std::string& limit) {
  return check_limits(comparison, {parse_limit(limit)})[0].is_exceeded;
}

TEST(ComparisonLimits, AreParsed) {
  const Limit growth = parse_limit(" growth > 5MB ");
  EXPECT_FALSE(growth.metric);
  EXPECT_EQ(growth.amount, 5.0 * 1024 * 1024);
  EXPECT_FALSE(growth.is_percent);
  EXPECT_FALSE(growth.may_be_equal);
  const Limit alloc = parse_limit("alloc>=10.5 %");
  EXPECT_EQ(alloc.metric, Metric::kAllocSpace);
  EXPECT_EQ(alloc.amount, 10.5);
  EXPECT_TRUE(alloc.is_percent);
  EXPECT_TRUE(alloc.may_be_equal);
  EXPECT_EQ(parse_limit("live > 0").metric, Metric::kInuseSpace);
  EXPECT_EQ(parse_limit("inuse_objects > 1000").metric, Metric::kInuseObjects);
  EXPECT_TRUE(parse_limit("row > 1M").is_of_rows);
}

TEST(ComparisonLimits, WhatIsNoLimitSaysHowToWriteOne) {
  for (const char* text : {"", "growth", "growth 5MB", "growth > ", "growth > x", "growth > -1", "rss > 5MB",
                           "> 5MB", "growth < 5MB", "alloc > %", "alloc > ten%"}) {
    EXPECT_THAT(error_of(text), AllOf(HasSubstr("'" + std::string(text) + "': "), HasSubstr("WHAT > AMOUNT")))
        << text;
  }
}

TEST(ComparisonLimits, OnlySignificantGrowthExceeds) {
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after());
  EXPECT_FALSE(is_exceeded(result, "growth > 0"));  // more, but it may be chance
  EXPECT_THAT(check_limits(result, {parse_limit("growth > 0")})[0].what, HasSubstr("may be chance"));
  EXPECT_TRUE(is_exceeded(result, "row > 10MB"));
  EXPECT_FALSE(is_exceeded(result, "row > 15MB"));
  ComparisonOptions options;
  options.filter.focus = Pattern("cache");
  const Comparison cache = compare(comparison_fixture::before(), comparison_fixture::after(), options);
  EXPECT_TRUE(is_exceeded(cache, "growth > 10MB"));
  EXPECT_TRUE(is_exceeded(cache, "live > 150%"));
  EXPECT_FALSE(is_exceeded(cache, "live > 250%"));
  EXPECT_TRUE(is_exceeded(cache, "alloc_space > 10MB"));
  EXPECT_FALSE(is_exceeded(cache, "growth > 1G"));
  // Shrinkage exceeds nothing.
  const Comparison less = compare(comparison_fixture::after(), comparison_fixture::before(), options);
  EXPECT_FALSE(is_exceeded(less, "growth > 0"));
}

TEST(ComparisonLimits, WhatIsNotKnownIsAnError) {
  auto foreign = comparison_fixture::before();
  foreign[0].profile.from_memprof = false;
  const Comparison result = compare(foreign, comparison_fixture::after());
  EXPECT_THROW(check_limits(result, {parse_limit("growth > 0")}), Error);
  EXPECT_TRUE(check_limits(result, {}).empty());
}

}  // namespace
}  // namespace memprof::profile
