// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

nlohmann::json json_of(const ComparisonOptions& options, size_t max_rows = SIZE_MAX) {
  return json_from_text(
      comparison_json(compare(comparison_fixture::before(), comparison_fixture::after(), options),
                      {{"row > 1MB", true, "cache grew"}}, max_rows));
}

TEST(ComparisonJson, HasEverything) {
  ComparisonOptions options;
  options.has_all_intervals = true;
  options.has_tree = true;
  const auto json = json_of(options);
  EXPECT_EQ(json["before"][0]["name"], "old.pb.gz");
  EXPECT_EQ(json["metric"], "inuse_space");
  EXPECT_EQ(json["by"], "function");
  EXPECT_EQ(json["correction"], "benjamini-hochberg");
  EXPECT_EQ(json["tested_rows"], 5);
  ASSERT_EQ(json["rows"].size(), 5u);
  EXPECT_EQ(json["rows"][0]["name"], "cache");
  EXPECT_EQ(json["rows"][0]["significant"], true);
  EXPECT_GT(json["rows"][0]["change"]["low"], 0);
  EXPECT_EQ(json["rows"][1]["name"], "pool");
  EXPECT_EQ(json["rows"][2]["significant"], false);
  EXPECT_LT(json["rows"][2]["change"]["low"], 0);
  EXPECT_EQ(json["not_significant"]["rows"], 3);
  EXPECT_EQ(json["totals"].size(), 4u);
  EXPECT_EQ(json["totals"]["inuse_space"]["significant"], false);
  EXPECT_EQ(json["limits"][0]["exceeded"], true);
  EXPECT_EQ(json["tree"]["nodes"][0]["frames"][0]["name"], "main");
  int64_t change = 0;
  for (const auto& row : json["rows"]) change += row["change"]["value"].get<int64_t>();
  EXPECT_NEAR(change, json["totals"]["inuse_space"]["change"]["value"].get<double>(), 5);
}

TEST(ComparisonJson, RowsHaveALimit) {
  EXPECT_EQ(json_of({}, 1)["rows"].size(), 1u);
}

TEST(ComparisonJson, ResidentMemoryThatIsNotKnownIsNull) {
  std::vector<ComparedProfile> before = comparison_fixture::before();
  std::vector<ComparedProfile> after = comparison_fixture::after();
  ResidentMemory& memory = after[0].profile.resident;
  memory.total_bytes = 100;
  memory.files_bytes = 20;
  before[0].profile.resident = memory;
  before[0].profile.resident.state = kResidentHeapCut;
  const auto json = json_from_text(comparison_json(compare(before, after, {}), {}, SIZE_MAX))["resident"];
  for (const char* key : {"heap_bytes", "slack_bytes", "fragmentation", "unexplained_bytes"}) {
    EXPECT_TRUE(json["before"][key].is_null()) << key;
    EXPECT_TRUE(json["after"][key].is_number()) << key;
  }
  EXPECT_EQ(json["before"]["rss_bytes"], 100);
  EXPECT_EQ(json["before"]["files_bytes"], 20);
  EXPECT_EQ(json["after"]["unexplained_bytes"], 80);
  memory = {};  // a process that was killed
  EXPECT_TRUE(json_from_text(comparison_json(compare(before, after, {}), {}, SIZE_MAX))["resident"]["after"]
                  .is_null());
}

}  // namespace
}  // namespace memprof::profile
