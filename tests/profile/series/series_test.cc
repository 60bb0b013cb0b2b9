// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series.h"

#include <gtest/gtest.h>

#include "profile/model/metric.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

TEST(Series, FiguresAreThoseOfTheReport) {
  const Profile profile = series_fixture::profile_at(series_fixture::kStart, 300);
  const SeriesLook look = figures_of(profile, 3);
  EXPECT_EQ(look.time_unix_ns, profile.time_unix_ns);
  EXPECT_EQ(look.processes, 3u);
  EXPECT_EQ(look.totals.at(Metric::kInuseSpace).value, 400 * 1024);
  EXPECT_EQ(look.totals.at(Metric::kAllocObjects).value, 401);
  EXPECT_EQ(look.totals.count(Metric::kPeakSpace), 0u);  // the profile has none
  ASSERT_EQ(look.sites.size(), 2u);
  EXPECT_EQ(look.sites[0].name, "leaking");
  EXPECT_EQ(look.sites[0].file, "/src/leak.cc");
  EXPECT_EQ(look.sites[0].line, 7);
  EXPECT_EQ(look.sites[0].live_bytes, 300 * 1024);
}

TEST(Series, AFunctionThatHoldsNothingIsNoSite) {
  const SeriesLook look = figures_of(series_fixture::profile_at(series_fixture::kStart, 0), 1);
  ASSERT_EQ(look.sites.size(), 1u);
  EXPECT_EQ(look.sites[0].name, "steady");
}

TEST(Series, TimesAreLocal) {
  const series_fixture::InUtc utc;
  EXPECT_EQ(time_text(series_fixture::kStart), "2023-11-14 22:13:20 UTC");
}

}  // namespace
}  // namespace memprof::profile
