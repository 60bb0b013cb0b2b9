// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/report_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/arguments.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

ReaderChoice parsed(const std::vector<std::string>& arguments) {
  ArgumentParser parser("x", {});
  ReaderOptions options(parser);
  static_cast<void>(parser.parse(arguments));
  return options.choice();
}

std::string failure(const std::vector<std::string>& arguments) {
  try {
    parsed(arguments);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(ReportOptions, NothingGivenIsNothingChosen) {
  const ReaderChoice choice = parsed({});
  EXPECT_FALSE(choice.by || choice.metric || choice.view.all || choice.view.interpreter ||
               choice.view.full_names || choice.view.native || choice.view.imports);
  EXPECT_TRUE(choice.filter.is_empty());
}

TEST(ReportOptions, AllOfThem) {
  const ReaderChoice choice =
      parsed({"--by", "heap", "--metric", "peak", "--focus", "a.*b", "--ignore=c", "--process", "cc1plus 12",
              "--all-frames", "--native-interpreter", "--full-names", "--native", "--imports"});
  EXPECT_EQ(choice.by, profile::GroupBy::kHeap);
  EXPECT_EQ(choice.metric, profile::Metric::kPeakSpace);
  EXPECT_EQ(profile::filter_texts(choice.filter).focus, "a.*b");
  EXPECT_EQ(profile::filter_texts(choice.filter).ignore, "c");
  EXPECT_EQ(profile::filter_texts(choice.filter).process, "cc1plus 12");
  EXPECT_TRUE(choice.view.all && choice.view.interpreter && choice.view.full_names);
  EXPECT_TRUE(choice.view.native && choice.view.imports);
}

TEST(ReportOptions, WhatIsWrongIsNamed) {
  EXPECT_THAT(failure({"--by", "colour"}), ::testing::StartsWith("--by: 'colour' is not one of"));
  EXPECT_THAT(failure({"--metric", "rss"}), ::testing::StartsWith("--metric: 'rss'"));
  EXPECT_THAT(failure({"--focus", ""}), ::testing::StartsWith("--focus: an empty expression"));
  EXPECT_THAT(failure({"--ignore", "["}), ::testing::StartsWith("--ignore: '['"));
  EXPECT_THAT(failure({"--process", "("}), ::testing::StartsWith("--process: '('"));
}

}  // namespace
}  // namespace memprof::cli
