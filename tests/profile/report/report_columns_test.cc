// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/profile/report/reports.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::ElementsAre;

// Titles of the columns at a width, from left to right.
template <typename Write>
std::vector<std::string> titles_at(size_t width, bool has_bars, const Write& write) {
  TextOptions options;
  options.width = width;
  options.has_bars = has_bars;
  TextWriter writer(options);
  write(&writer);
  std::istringstream text(writer.take());
  std::string line;
  while (std::getline(text, line) && line.find("live") == std::string::npos) {
  }
  std::istringstream words(line);
  std::vector<std::string> titles;
  for (std::string word; words >> word;) titles.push_back(word);
  return titles;
}

class ReportColumns : public ::testing::Test {
 protected:
  ReportColumns() {
    const uint32_t main = b_.at("main", "/src/main.cc", 3);
    b_.stack({b_.at("make", "/src/make.cc", 7), main}, 3 << 20, 2).stack({main}, 1536, 100, 10);
  }

  Builder b_;
};

TEST_F(ReportColumns, LeaveInTheirOrderAsTheTerminalGetsNarrower) {
  const Report report = build_report(b_.profile(), grouped_by(GroupBy::kFunction));
  const auto at = [&](size_t width, bool has_bars = false) {
    return titles_at(width, has_bars, [&](TextWriter* writer) { write_rows(report, writer); });
  };
  EXPECT_THAT(at(0),
              ElementsAre("live", "±", "%", "blocks", "allocated", "live", "%", "function", "file:line"));
  std::vector<std::vector<std::string>> seen;
  for (size_t width = 200; width >= 20; --width) {
    std::vector<std::string> titles = at(width, true);
    if (titles.back() == "file:line") titles.pop_back();
    if (seen.empty() || seen.back() != titles) seen.push_back(titles);
  }
  EXPECT_THAT(seen, ElementsAre(ElementsAre("live", "±", "%", "blocks", "allocated", "live", "%", "function"),
                                ElementsAre("live", "±", "%", "blocks", "live", "%", "function"),
                                ElementsAre("live", "±", "%", "live", "%", "function"),
                                ElementsAre("live", "%", "live", "%", "function"),
                                ElementsAre("live", "live", "%", "function")));
}

TEST_F(ReportColumns, OfModulesHaveNoPlace) {
  const Report report = build_report(b_.profile(), grouped_by(GroupBy::kModule));
  EXPECT_FALSE(has_places(report.by));
  EXPECT_EQ(titles_at(0, false, [&](TextWriter* writer) { write_rows(report, writer); }).back(), "module");
}

TEST_F(ReportColumns, OfCallersSayWhatShareOfTheFunction) {
  ReportOptions options = grouped_by(GroupBy::kFunction);
  options.callers = {"make"};
  const Report report = build_report(b_.profile(), options);
  ASSERT_EQ(report.calls.size(), 1u);
  const auto at = [&](size_t width) {
    return titles_at(width, false,
                     [&](TextWriter* writer) { write_edges(report, report.calls[0].edges, writer); });
  };
  EXPECT_THAT(at(0), ElementsAre("live", "±", "%", "of", "it", "blocks", "allocated", "caller", "place"));
  EXPECT_THAT(at(20), ElementsAre("live", "%", "caller"));
}

// What a page shows: its script knows these words alone.
TEST(PageColumns, AreThoseOfTheReportThatAPageCanCompute) {
  const nlohmann::ordered_json columns = page_columns();
  std::vector<std::string> titles;
  for (const auto& column : columns) {
    titles.push_back(column["title"]);
    EXPECT_THAT(column["sums"], ::testing::AnyOf("self", "total"));
    EXPECT_THAT(column["shape"], ::testing::AnyOf("number", "percent", "margin"));
    EXPECT_THAT(column["of"], ::testing::AnyOf("metric", "bytes", "blocks"));
    EXPECT_THAT(column["per"], ::testing::AnyOf("", "metric", "bytes", "blocks", "whole"));
  }
  EXPECT_THAT(titles, ElementsAre("self", "±", "%", "cumulative", "%"));
  EXPECT_EQ(columns[0]["change_title"], "change");
}

}  // namespace
}  // namespace memprof::profile
