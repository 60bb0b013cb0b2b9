// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/column_values.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

class ComparisonColumns : public ::testing::Test {
 protected:
  Comparison comparison_ = compare(comparison_fixture::before(), comparison_fixture::after());
};

TEST_F(ComparisonColumns, BarsAreOfTheTablesLargestChange) {
  ASSERT_EQ(comparison_.growth.size(), 1);
  const ComparisonRow& row = comparison_.growth[0];
  EXPECT_THAT(column_titles(comparison_columns(comparison_)),
              ElementsAre("change", "95 % interval", "before", "after", "p"));
  ChangeTable table;
  table.title = "live";
  table.options.has_bars = true;
  table.largest_change = 2 * row.change.value;
  const std::vector<Column<ComparisonRow>> columns = comparison_columns(comparison_, table);
  EXPECT_THAT(column_titles(columns), ElementsAre("live", "", "95 % interval", "before", "after", "p"));
  EXPECT_EQ(column_cells(columns, row)[1], "█████     ");
  EXPECT_EQ(column_cells(columns, row)[0], "+12.5 MiB");
}

TEST_F(ComparisonColumns, WhatIsNotTestedIsNull) {
  ComparisonRow row = comparison_.growth[0];
  const std::vector<Column<ComparisonRow>> columns = comparison_columns(comparison_);
  nlohmann::ordered_json json = json_row(columns, row);
  EXPECT_EQ(json["name"], "cache");
  EXPECT_EQ(json["significant"], true);
  EXPECT_TRUE(json["p_value"].is_number());
  EXPECT_TRUE(json["change"]["low"].is_number());
  row.change.is_tested = false;
  json = json_row(columns, row);
  EXPECT_TRUE(json["significant"].is_null());
  EXPECT_TRUE(json["p_value"].is_null());
  EXPECT_TRUE(json["corrected_p_value"].is_null());
  EXPECT_TRUE(json["change"]["low"].is_null());
  EXPECT_EQ(column_cells(columns, row).back(), "?");
}

}  // namespace
}  // namespace memprof::profile
