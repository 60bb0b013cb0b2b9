// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/record_options.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

std::optional<RecordChoice> choice(const std::vector<std::string>& arguments, const std::string& usual = {}) {
  ArgumentParser parser("live", {});
  RecordOptions options(parser, usual);
  parser.parse(arguments);
  return options.choice();
}

std::string error(const std::vector<std::string>& arguments, const std::string& usual = {}) {
  try {
    choice(arguments, usual);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

TEST(RecordOptions, WhatIsGivenHolds) {
  EXPECT_FALSE(choice({}));
  EXPECT_FALSE(choice({}, "usual.series"));
  const auto all = choice({"--record", "a.series", "--every", "5m", "--limit", "64m"});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->pattern, "a.series");
  EXPECT_EQ(all->every_ns, uint64_t{300} * 1'000'000'000);
  EXPECT_EQ(all->max_bytes, uint64_t{64} << 20);
  const auto usual = choice({"--every", "500ms"}, "usual.series");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->pattern, "usual.series");
  EXPECT_EQ(choice({"--record", "a.series"})->every_ns, uint64_t{10} * 1'000'000'000);
}

TEST(RecordOptions, WhatIsWrongIsSaid) {
  EXPECT_EQ(error({"--every", "5s"}), "--every: is of a recording; add --record FILE.series");
  EXPECT_EQ(error({"--limit", "5m"}, "usual.series"), "--limit: is of a recording; add --every TIME");
  EXPECT_EQ(error({"--record", "a.pb.gz"}), "--record: 'a.pb.gz': the name must end in .series");
  EXPECT_NE(error({"--record", ".series"}), "");
  EXPECT_NE(error({"--record", ""}), "");
  for (const char* time : {"1ms", "0", "x", "10", "400d", ""}) {
    EXPECT_NE(error({"--record", "a.series", "--every", time}), "") << time;
  }
  for (const char* size : {"1k", "x", ""}) {
    EXPECT_NE(error({"--record", "a.series", "--limit", size}), "") << size;
  }
}

}  // namespace
}  // namespace memprof::cli
