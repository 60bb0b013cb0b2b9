// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_cells.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ReportCells, WhatAProfileDoesNotHaveIsADash) {
  Report report;
  report.has_metric = {true, false, false, false};
  std::array<Estimate, kMetricCount> values;
  values[0].value = 12345;
  EXPECT_EQ(value_cell(report, Metric::kAllocObjects, values), "12,345");
  EXPECT_EQ(value_cell(report, Metric::kAllocSpace, values), "-");
}

TEST(ReportCells, BesideWhatIsResidentStandWhatLivesAndItsShare) {
  Report report;
  report.metric = Metric::kResidentSpace;
  report.has_metric.fill(true);
  std::array<Estimate, kMetricCount> values;
  values[metric_index(Metric::kResidentSpace)].value = 1 << 20;
  values[metric_index(Metric::kInuseSpace)].value = 4 << 20;
  using Two = std::array<std::string, 2>;
  EXPECT_EQ(companion_titles(report.metric), (Two{"live", "in memory"}));
  EXPECT_EQ(companion_cells(report, values), (Two{"4.0 MiB", "25.0%"}));
  report.metric = Metric::kInuseSpace;
  EXPECT_EQ(companion_titles(report.metric), (Two{"blocks", "allocated"}));
  EXPECT_EQ(companion_cells(report, values)[0], "0");
}

TEST(ReportCells, Percents) {
  EXPECT_EQ(percent_cell(1, 3), "33.3%");
  EXPECT_EQ(percent_cell(1, 0), "");
}

TEST(ReportCells, TheLargerHalfOfTheInterval) {
  Report report;
  report.has_intervals = true;
  EXPECT_EQ(plus_minus_cell(report, {100, 95, 107, true}), "7.0%");
  EXPECT_EQ(plus_minus_cell(report, {100, 50, 107, true}), "50%");
  EXPECT_EQ(plus_minus_cell(report, {100, 100, 100, true}), "0%");
  EXPECT_EQ(plus_minus_cell(report, {1e6, 1e6, 1e6 + 1, true}), "<0.1%");
  EXPECT_EQ(plus_minus_cell(report, {0, 0, 0, true}), "");
  EXPECT_EQ(plus_minus_cell(report, {100, 100, 100, false}), "-");
  report.has_intervals = false;
  EXPECT_EQ(plus_minus_cell(report, {100, 95, 107, true}), "-");
}

TEST(ReportCells, Places) {
  EXPECT_EQ(place_cell("f", "/src/f.cc", 3, "server"), "/src/f.cc:3");
  EXPECT_EQ(place_cell("f", "/src/f.cc", 0, "server"), "/src/f.cc");
  EXPECT_EQ(place_cell("f", "", 0, "server"), "server");
  EXPECT_EQ(place_cell("server+0x12", "", 0, "server"), "");
}

TEST(ReportCells, CompanionsAreOtherMetrics) {
  for (const Metric metric : kMetrics) {
    const auto others = companions(metric);
    EXPECT_NE(others[0], metric);
    EXPECT_NE(others[1], metric);
    EXPECT_NE(others[0], others[1]);
    EXPECT_STRNE(metric_title(metric), metric_title(others[0]));
  }
}

TEST(ReportCells, BesideALineStandsWhatItAllocatedThroughAndForWhom) {
  RowNotes row;
  using Notes = std::vector<std::string>;
  EXPECT_EQ(note_cells(row), Notes());
  row.through = NativeCallee{"PyArray_Empty", "_umath.so"};
  EXPECT_EQ(note_cells(row), Notes({"through PyArray_Empty"}));
  row.through->function.clear();
  row.called_by = OwnLine{"prices", "/srv/app.py", 4};
  EXPECT_EQ(note_cells(row), Notes({"for prices (app.py:4) through _umath.so", "for prices (app.py:4)"}));
  row.through.reset();
  EXPECT_EQ(note_cells(row), Notes({"for prices (app.py:4)"}));
}

// Also of a file, whose comments anyone can have written.
TEST(ReportCells, WhatTheValuesAreIsSaidWithoutControlCharacters) {
  Report report;
  EXPECT_EQ(value_source(report), "Not written by memprof: the values are those of the file");
  Profile profile;
  profile.comments = {"values: 3", "another"};
  EXPECT_EQ(origin_of(profile), "");
  set_origin("from a server\x1b[2J", &profile);
  report.origin = origin_of(profile);
  EXPECT_EQ(report.origin, "from a server\x1b[2J");
  EXPECT_EQ(value_source(report).find("The values are from a server"), 0U);
  EXPECT_EQ(value_source(report).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace memprof::profile
