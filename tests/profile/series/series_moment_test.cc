// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_moment.h"

#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

using series_fixture::kSecond;
using series_fixture::kStart;

// From 22:13:20 to 01:00:00, each 10 s; the highest after 100 s.
Series series() {
  Series series = series_fixture::facts();
  for (uint64_t i = 0; i <= 1000; ++i) {
    SeriesLook look;
    look.time_unix_ns = kStart + i * 10 * kSecond;
    look.totals[Metric::kInuseSpace].value = i == 10 ? 99 : 1;
    series.looks.push_back(look);
  }
  return series;
}

uint64_t seconds_at(const std::string& moment) {
  return (look_at(series(), moment, "x.series").time_unix_ns - kStart) / kSecond;
}

std::string error_at(const std::string& moment) {
  try {
    seconds_at(moment);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(SeriesMoment, AsPeopleSayIt) {
  const series_fixture::InUtc utc;
  EXPECT_EQ(seconds_at("first"), 0u);
  EXPECT_EQ(seconds_at("last"), 10000u);
  EXPECT_EQ(seconds_at("peak"), 100u);
  EXPECT_EQ(seconds_at("+10m"), 600u);
  EXPECT_EQ(seconds_at("-10m"), 9400u);
  EXPECT_EQ(seconds_at("22:15"), 100u);
  EXPECT_EQ(seconds_at("22:15:22"), 120u);  // the nearest
  EXPECT_EQ(seconds_at("00:30"), 8200u);    // of the next day
  EXPECT_EQ(seconds_at("2023-11-14T22:15"), 100u);
  EXPECT_EQ(seconds_at("2023-11-15 00:30:01"), 8200u);
  EXPECT_EQ(seconds_at("22:13"), 0u);  // that minute
}

TEST(SeriesMoment, WhatIsNotAmongThemIsSaid) {
  const series_fixture::InUtc utc;
  EXPECT_EQ(error_at("14:05"),
            "x.series: has looks from 2023-11-14 22:13:20 UTC to 2023-11-15 01:00:00 UTC; '14:05' is not "
            "among them");
  EXPECT_NE(error_at("+3h"), "");
  EXPECT_NE(error_at("2023-11-13T22:15"), "");
}

TEST(SeriesMoment, WhatIsNoMomentIsSaid) {
  for (const char* text :
       {"", "noon", "25:00", "14:61", "14:05x", "14", "2023-13-01T10:00", "2023-11-14", "+x", "+"}) {
    EXPECT_NE(error_at(text).find("is no moment of a series"), std::string::npos) << text;
  }
  EXPECT_THROW(look_at(Series(), "last", "x"), Error);
}

}  // namespace
}  // namespace memprof::profile
