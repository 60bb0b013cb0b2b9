// SPDX-License-Identifier: Apache-2.0
#include "profile/report/tree_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/text/markup/column_values.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::ElementsAre;

class TreeColumns : public ::testing::Test {
 protected:
  TreeColumns() {
    const uint32_t main = b_.at("main");
    b_.stack({b_.at("parse", "/src/p.cc", 12), main}, 300, 3).stack({main}, 100, 1);
    ReportOptions options = grouped_by(GroupBy::kFunction);
    options.has_tree = true;
    report_ = build_report(b_.profile(), options);
  }

  Builder b_;
  Report report_;
};

TEST_F(TreeColumns, OfCallersHaveNoSelfAndGrowthIsTheLast) {
  EXPECT_THAT(column_titles(tree_columns(report_)), ElementsAre("live", "±", "%", "self", "blocks"));
  EXPECT_THAT(column_titles(tree_columns(report_, Direction::kCallers)),
              ElementsAre("live", "±", "%", "blocks"));
  EXPECT_THAT(column_titles(tree_columns(report_, Direction::kCallees, true)),
              ElementsAre("live", "±", "%", "self", "blocks", "growth"));
}

TEST_F(TreeColumns, WhatIsLeftOutHasItsValueAndShareAlone) {
  TreeRow hidden;
  hidden.hidden_count = 2;
  hidden.hidden_value = 100;
  hidden.growth = 50;  // is nobody's
  EXPECT_THAT(column_cells(tree_columns(report_, Direction::kCallees, true), hidden),
              ElementsAre("100 B", "", "10.0%", "", "", ""));
}

TEST_F(TreeColumns, AreTheSameForProgramsWhateverTheDirection) {
  TreeRow row;
  row.node = &report_.tree->nodes.at(0);
  const nlohmann::ordered_json json = json_row(tree_columns(report_), row);
  EXPECT_EQ(json, json_row(tree_columns(report_, Direction::kCallers, true), row));
  std::vector<std::string> names;
  for (const auto& item : json.items()) names.push_back(item.key());
  EXPECT_THAT(names, ElementsAre("parent", "depth", "frames", "self", "cumulative", "hidden_children",
                                 "hidden_value"));
  EXPECT_EQ(json["self"]["inuse_space"]["value"], 100);
  EXPECT_EQ(json["cumulative"]["inuse_space"]["value"], 1000);
  EXPECT_EQ(json["frames"][0]["name"], "main");
}

}  // namespace
}  // namespace memprof::profile
