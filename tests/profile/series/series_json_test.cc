// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

TEST(SeriesJson, LooksComeBackAsTheyWere) {
  SeriesLook look = series_fixture::look_of(series_fixture::profile_at(series_fixture::kStart, 5), 12345);
  look.totals[Metric::kInuseSpace] = {100, 90, 120, true};
  look.totals[Metric::kAllocSpace] = {200, 200, 200, false};
  look.sites[0].name = "a \"name\" \xff\n";
  SeriesLook back;
  ASSERT_TRUE(parse_series_look(series_look_json(look), &back));
  EXPECT_EQ(back.time_unix_ns, look.time_unix_ns);
  EXPECT_EQ(back.processes, 1u);
  EXPECT_EQ(back.system, look.system);
  EXPECT_EQ(back.totals.at(Metric::kInuseSpace).low, 90);
  EXPECT_EQ(back.totals.at(Metric::kInuseSpace).high, 120);
  EXPECT_FALSE(back.totals.at(Metric::kAllocSpace).has_interval);
  EXPECT_EQ(back.totals.at(Metric::kAllocSpace).value, 200);
  ASSERT_EQ(back.sites.size(), look.sites.size());
  EXPECT_EQ(back.sites[0].name, "a \"name\" \xef\xbf\xbd\n");  // what is no UTF-8 is replaced
  EXPECT_EQ(back.sites[1].line, look.sites[1].line);
}

TEST(SeriesJson, FactsComeBackAsTheyWere) {
  Series back;
  ASSERT_TRUE(parse_series_facts(series_facts_json(series_fixture::facts()), &back));
  EXPECT_EQ(back.program, "server");
  EXPECT_EQ(back.pid, 4711u);
  EXPECT_EQ(back.every_ns, 10 * series_fixture::kSecond);
}

TEST(SeriesJson, WhatIsDamagedIsRefused) {
  Series series;
  SeriesLook look;
  for (const char* text : {"", "{", "[]", "{\"series\":2}", "null", "{\"series\":\"x\"}"}) {
    EXPECT_FALSE(parse_series_facts(text, &series)) << text;
    EXPECT_FALSE(parse_series_look(text, &look)) << text;
  }
}

TEST(SeriesJson, AllOfItForPrograms) {
  Series series = series_fixture::facts();
  series.looks.push_back(series_fixture::look_of(series_fixture::profile_at(series_fixture::kStart, 5), 9));
  const auto json = json_from_text(series_json(series));
  EXPECT_EQ(json["looks"][0]["system"]["rss_bytes"], 9);
  EXPECT_EQ(json["looks"][0]["totals"]["inuse_space"]["value"], 105 * 1024);
  EXPECT_EQ(json["looks"][0]["sites"][0]["function"], "steady");
}

}  // namespace
}  // namespace memprof::profile
