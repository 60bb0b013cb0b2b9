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

}  // namespace
}  // namespace memprof::profile
