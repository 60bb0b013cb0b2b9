// SPDX-License-Identifier: Apache-2.0
// tests/e2e/page_test.py decodes whole blocks and compares them with reports.
#include "profile/page/page_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/report/report_columns.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

nlohmann::json facts_of(const std::string& data) {
  size_t size = 0;
  size_t at = 0;
  for (size_t shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(data.at(at++));
    size |= static_cast<size_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  return json_from_text(data.substr(at, size));
}

Builder server(uint64_t rate_bytes) {
  Builder builder(rate_bytes);
  const uint32_t main = builder.at("main", "main.c", 7);
  builder.stack({builder.at("insert", "cache.c", 3), main}, 64, 10, 4).stack({main}, 4096, 3);
  return builder;
}

TEST(PageData, SaysWhatTheProfileIsOf) {
  Builder builder = server(1024);
  PageSubject subject;
  subject.title = "a.pb.gz";
  subject.facts = {"one", "two"};
  const nlohmann::json facts = facts_of(write_page_data({&builder.profile()}, subject));
  EXPECT_EQ(facts["version"], kPageDataVersion);
  EXPECT_EQ(facts["title"], "a.pb.gz");
  EXPECT_EQ(facts["lines"].size(), 2u);
  EXPECT_EQ(facts["sides"][0]["program"], "server");
  EXPECT_EQ(facts["sides"][0]["rate"], 1024);
  EXPECT_EQ(facts["metrics"].size(), 6u) << "allocated, live, and what was freed soon: nothing";
  EXPECT_EQ(facts["temporary_ns"], 10'000'000);
  EXPECT_EQ(facts["metric"], "inuse_space");
  EXPECT_EQ(facts["columns"], nlohmann::json(page_columns()));
  EXPECT_EQ(facts["has_intervals"], true);
  EXPECT_TRUE(facts["changes"].empty());
}

TEST(PageData, AProfileOfOthersHasNoIntervals) {
  Builder builder = server(1024);
  builder.profile().from_memprof = false;
  for (Stack& stack : builder.profile().stacks) stack.has_statistics = false;
  EXPECT_EQ(facts_of(write_page_data({&builder.profile()}, {}))["has_intervals"], false);
}

TEST(PageData, WhatWasFreedSoonIsThereWhereLifetimesAre) {
  Builder builder = server(1024);
  builder.profile().stacks[0].freed.samples = 6;
  const auto has_temporary = [&] {
    const std::string facts = facts_of(write_page_data({&builder.profile()}, {}))["metrics"].dump();
    return facts.find("temporary_space") != std::string::npos;
  };
  EXPECT_FALSE(has_temporary()) << "an older memprof wrote it";
  builder.profile().stacks[0].lifetimes = {{0, 3, 6, 384, 384, 6}};
  EXPECT_TRUE(has_temporary());
}

TEST(PageData, ADifferenceHasTheMetricsOfBoth) {
  Builder before = server(1024);
  Builder after = server(1024);
  before.profile().has_metric = {false, false, true, true};
  PageSubject subject;
  subject.metric = Metric::kInuseObjects;
  const nlohmann::json facts = facts_of(write_page_data({&before.profile(), &after.profile()}, subject));
  EXPECT_EQ(facts["sides"].size(), 2u);
  EXPECT_EQ(facts["metrics"], (nlohmann::json{"inuse_objects", "inuse_space"}));
  EXPECT_EQ(facts["metric"], "inuse_objects");
}

TEST(PageData, TheSameProfileGivesTheSameBytes) {
  Builder one = server(1024);
  Builder two = server(1024);
  EXPECT_EQ(write_page_data({&one.profile()}, {}), write_page_data({&two.profile()}, {}));
}

TEST(PageData, NamesMayBeAnyBytes) {
  Builder builder(0);
  builder.stack({builder.at(std::string("a\0\xff</script>", 12))}, 64, 1);
  builder.profile().program = "\xff";
  const std::string data = write_page_data({&builder.profile()}, {});
  EXPECT_NE(data.find(std::string("a\0\xff</script>", 12)), std::string::npos);
  EXPECT_EQ(facts_of(data)["sides"][0]["program"], "\uFFFD");
}

// A sample of one size is two or three bytes; sums of several sizes take their doubles.
TEST(PageData, SamplesOfOneSizeAreSmall) {
  Builder one(1024);
  const uint32_t main = one.at("main");
  one.stack({main}, 64, 10);
  Builder two = one;
  for (int i = 0; i < 100; ++i) two.stack({main}, 64, 10);
  const size_t more =
      write_page_data({&two.profile()}, {}).size() - write_page_data({&one.profile()}, {}).size();
  EXPECT_LT(more, 100u * 16);
  two.profile().stacks.back().allocated.weight_bytes *= 1.5;
  EXPECT_GT(write_page_data({&two.profile()}, {}).size(),
            write_page_data({&one.profile()}, {}).size() + more + 6 * sizeof(double) - 4);
}

}  // namespace
}  // namespace memprof::profile
