// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "profile/model/metric.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Change change(double before, double after, double low, double high, double p) {
  Change change;
  change.before = {before, before, before, true};
  change.after = {after, after, after, true};
  change.value = after - before;
  change.low = low;
  change.high = high;
  change.p_value = p;
  change.is_tested = true;
  return change;
}

TEST(ComparisonCells, NoTwoTotalsHaveOneTitle) {
  std::set<std::string> titles;
  for (const Metric metric : kMetrics) titles.insert(total_title(metric));
  EXPECT_EQ("in memory", total_title(Metric::kResidentSpace)) << "resident is what RSS says";
  EXPECT_EQ(titles.size(), kMetricCount);
}

TEST(ComparisonCells, ChangesHaveASign) {
  EXPECT_EQ(signed_text(Metric::kInuseSpace, 2048), "+2.0 KiB");
  EXPECT_EQ(signed_text(Metric::kInuseSpace, -2048), "-2.0 KiB");
  EXPECT_EQ(signed_text(Metric::kInuseSpace, 0), "0 B");
  EXPECT_EQ(signed_text(Metric::kInuseSpace, -0.3), "0 B");
  EXPECT_EQ(signed_text(Metric::kInuseObjects, 0.4), "0");
  EXPECT_EQ(signed_text(Metric::kInuseObjects, -12345), "-12,345");
}

TEST(ComparisonCells, IntervalsPercentsAndP) {
  EXPECT_EQ(interval_text(Metric::kInuseObjects, change(5, 7, -1, 5, 0.2)), "-1 to +5");
  EXPECT_EQ(interval_text(Metric::kInuseObjects, change(5, 7, 2, 2, 0)), "exact");
  EXPECT_EQ(interval_text(Metric::kInuseObjects, Change()), "?");
  EXPECT_EQ(percent_text(change(5, 7, 2, 2, 0)), "+40.0 %");
  EXPECT_EQ(percent_text(change(0, 7, 2, 2, 0)), "");
  EXPECT_EQ(p_text(0.0421), "0.042");
  EXPECT_EQ(p_text(0.00042), "4e-04");
  EXPECT_EQ(p_text(1e-9), "<1e-6");
}

TEST(ComparisonCells, Sentences) {
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after());
  EXPECT_EQ(others_text(result), "3 other functions did not change significantly: +320.2 KiB together.");
  EXPECT_THAT(method_text(result), HasSubstr("Benjamini and Hochberg for 5 rows"));
  EXPECT_THAT(
      total_text(result, Metric::kInuseSpace),
      MatchesRegex("34.6 MiB to 34.9 MiB: \\+320.2 KiB \\(95 %: -[^ ]+ MiB to \\+[^ ]+ MiB\\), \\+0.9 %, not "
                   "significant \\(p 0\\.[0-9]+\\)"));
  EXPECT_EQ(side_text(result.before),
            "server (pid 4711), 2023-11-14 22:13:20 UTC, after 12.3 s; rate 64 KiB, 553 samples");
  EXPECT_EQ(row_name(GroupBy::kProcess, 2), "processes");
  EXPECT_EQ(row_name(GroupBy::kLine, 1), "line");
  EXPECT_EQ(row_text({"f", "a.c", 3, "app", ""}), "f (a.c:3)");
  EXPECT_EQ(row_text({"app", "", 0, "app", ""}), "app");
  RowNotes notes;
  notes.through = NativeCallee{"PyArray_Empty", "_umath.so"};
  EXPECT_EQ(row_text({"f", "a.py", 3, "[Python]", ""}, notes), "f (a.py:3), through PyArray_Empty");
}

}  // namespace
}  // namespace memprof::profile
