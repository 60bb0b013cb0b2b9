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

TEST(Series, ResidentMemoryThatIsNotKnownHasNoFigures) {
  ResidentMemory memory;
  memory.total_bytes = 100;
  memory.heap_bytes = 60;
  memory.live_bytes = 40;
  SystemFigures figures;
  add_resident_figures(memory, &figures);
  EXPECT_EQ(figures.at("resident_blocks_bytes"), 40u);
  EXPECT_EQ(figures.at("resident_unexplained_bytes"), 60u);  // 20 of the heap, 40 of no mapping
  figures.clear();
  memory.state = kResidentHeapCut;
  add_resident_figures(memory, &figures);
  EXPECT_TRUE(figures.empty());
  add_resident_figures({}, &figures);
  EXPECT_TRUE(figures.empty());
}

TEST(Series, TimesAreLocal) {
  const series_fixture::InUtc utc;
  EXPECT_EQ(time_text(series_fixture::kStart), "2023-11-14 22:13:20 UTC");
}

}  // namespace
}  // namespace memprof::profile
