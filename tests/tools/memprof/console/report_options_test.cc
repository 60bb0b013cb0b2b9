// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/report_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

TEST(ReportOptions, By) {
  EXPECT_EQ(parse_group_by("heap"), profile::GroupBy::kHeap);
  EXPECT_THROW(parse_group_by("colour"), Failure);
}

TEST(ReportOptions, Patterns) {
  EXPECT_EQ(parse_pattern("--focus", "a.*b").text(), "a.*b");
  EXPECT_THROW(parse_pattern("--focus", ""), Failure);
  try {
    parse_pattern("--ignore", "[");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), ::testing::StartsWith("--ignore: '['"));
  }
}

}  // namespace
}  // namespace memprof::cli
