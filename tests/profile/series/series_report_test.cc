// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

using series_fixture::kSecond;
using series_fixture::kStart;
using ::testing::HasSubstr;
using ::testing::Not;

Series growing() {
  Series series = series_fixture::facts();
  for (uint64_t i = 0; i < 4; ++i) {
    SeriesLook look = series_fixture::look_of(series_fixture::profile_at(kStart + i * 10 * kSecond, 1024 * i),
                                              (i + 1) << 20);
    look.system["swap_bytes"] = 0;
    look.system["cgroup_max_events"] = 5 + i;
    series.looks.push_back(look);
  }
  return series;
}

TEST(SeriesReport, LinesGoFromZeroToTheHighest) {
  EXPECT_EQ(line_of({{0, 0}, {10, 50}, {20, 100}}, 0, 20, 3, true), "▁▅█");
  EXPECT_EQ(line_of({{0, 0}, {10, 50}, {20, 100}}, 0, 20, 3, false), "_=#");
  EXPECT_EQ(line_of({{0, 7}}, 0, 0, 4, false), "####");             // one look
  EXPECT_EQ(line_of({{0, 0}, {20, 0}}, 0, 20, 2, false), "__");     // nothing
  EXPECT_EQ(line_of({{10, 1}, {20, 1}}, 0, 20, 4, false), "  ##");  // not known before
  EXPECT_EQ(line_of({{0, 1}, {20, 8}}, 0, 20, 4, false), "...#");   // holds until the next
}

TEST(SeriesReport, SaysWhatGrew) {
  const series_fixture::InUtc utc;
  const std::string text = series_text(growing(), "x.series", 20, {});
  EXPECT_THAT(text,
              HasSubstr("server (pid 4711): 4 looks, one every 10 s when new, 2023-11-14 22:13:20 UTC to "
                        "2023-11-14 22:13:50 UTC (30 s)"));
  EXPECT_THAT(text, HasSubstr("resident (RSS)"));
  EXPECT_THAT(text, Not(HasSubstr("swapped out")));  // never
  EXPECT_THAT(text, HasSubstr("3 times at memory.max"));
  EXPECT_THAT(text, HasSubstr("+3.0 MiB"));
  EXPECT_LT(text.find("leaking"), text.find("steady"));
  EXPECT_THAT(text, HasSubstr("/src/leak.cc:7"));
  EXPECT_THAT(text, HasSubstr("memprof report x.series --at peak"));
}

TEST(SeriesReport, RowsThatAreNotShownAreCounted) {
  const std::string text = series_text(growing(), "x.series", 1, {});
  EXPECT_THAT(text, HasSubstr("and 1 more (-n)"));
  EXPECT_THAT(text, Not(HasSubstr("steady")));
}

TEST(SeriesReport, FitsTheTerminal) {
  for (const size_t width : {60, 80, 120, 250}) {
    TextOptions options;
    options.width = width;
    options.has_utf8 = false;
    const std::string text = series_text(growing(), "x.series", 20, options);
    std::istringstream tables(text.substr(0, text.find("One look:")));
    for (std::string line; std::getline(tables, line);) EXPECT_LE(line.size(), width) << text;
  }
}

TEST(SeriesReport, AnEmptyOneAndACutOneSaySo) {
  EXPECT_THAT(series_text(series_fixture::facts(), "x", 20, {}), HasSubstr("without a look"));
  Series series = growing();
  series.cut_bytes = 2048;
  EXPECT_THAT(series_text(series, "x", 20, {}), HasSubstr("last 2.0 KiB are no whole look"));
}

}  // namespace
}  // namespace memprof::profile
