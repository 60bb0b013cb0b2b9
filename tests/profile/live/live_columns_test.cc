// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <map>
#include <string>
#include <vector>

#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

using live_fixture::look_at;
using ::testing::ElementsAre;

TextOptions with_bars(bool has_bars) {
  TextOptions options;
  options.has_bars = has_bars;
  return options;
}

// Titles, the first to be left out first; then those that stay.
std::vector<std::string> order_of_leaving(LiveSort sort) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  LiveChoice choice;
  choice.sort = sort;
  model.choose(choice);
  std::multimap<int, std::string> leaving;
  for (const LiveColumn& one : live_columns(model, with_bars(true))) {
    if (one.column.left_out != kStays) {
      leaving.emplace(one.column.left_out, one.column.title);
    } else {
      leaving.emplace(INT_MAX, "stays: " + one.column.title);
    }
  }
  std::vector<std::string> titles;
  for (const auto& [rank, title] : leaving) titles.push_back(title);
  return titles;
}

TEST(LiveColumns, TheOneThatRowsAreOrderedByStays) {
  EXPECT_THAT(order_of_leaving(LiveSort::kLive),
              ElementsAre("", "±", "blocks", "%", "cumulative", "allocates", "growth", "stays: live"));
  EXPECT_THAT(order_of_leaving(LiveSort::kGrowth),
              ElementsAre("", "±", "blocks", "%", "cumulative", "allocates", "stays: live", "stays: growth"));
}

TEST(LiveColumns, CellsAreOfTheRow) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  model.look(look_at(2, 4, 120));
  ASSERT_FALSE(model.rows().empty());
  const LiveRow& row = model.rows().front();
  EXPECT_EQ(row.of->name, "leak");
  std::vector<std::string> cells;
  std::vector<Tone> tones;
  for (const LiveColumn& column : live_columns(model, with_bars(false))) {
    cells.push_back(column.column.title + ": " + column.column.cell(row));
    tones.push_back(column.column.tone ? column.column.tone(row) : Tone::kPlain);
    EXPECT_GT(column.width, column.column.title.size());
  }
  EXPECT_THAT(cells, ElementsAre("live: 4.0 MiB", "±: 0%", "%: 100.0%", "blocks: 4", "cumulative: 4.0 MiB",
                                 "growth: +1.0 MiB", "allocates: 512.0 KiB/s"));
  EXPECT_THAT(tones, ElementsAre(Tone::kStrong, Tone::kFaint, Tone::kStrong, Tone::kPlain, Tone::kPlain,
                                 Tone::kGrowth, Tone::kPlain));
}

TEST(LiveColumns, ABarStandsBehindThePercent) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  const std::vector<LiveColumn> columns = live_columns(model, with_bars(true));
  ASSERT_EQ(columns.size(), 8);
  EXPECT_EQ(columns[2].column.title, "%");
  EXPECT_EQ(columns[3].column.title, "");
  EXPECT_EQ(columns[3].column.cell(model.rows().front()), "██████████");
}

}  // namespace
}  // namespace memprof::profile
