// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "profile/model/error.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

using series_fixture::kSecond;
using series_fixture::kStart;
using ::testing::ElementsAre;

// Looks after so many seconds, each with what it holds.
Series series_of(const std::vector<std::pair<uint64_t, double>>& looks) {
  Series series = series_fixture::facts();
  for (const auto& [seconds, live] : looks) {
    SeriesLook look;
    look.time_unix_ns = kStart + seconds * kSecond;
    look.totals[Metric::kInuseSpace].value = live;
    series.looks.push_back(look);
  }
  return series;
}

Series series_every_second(const std::vector<double>& live) {
  std::vector<std::pair<uint64_t, double>> looks;
  for (const double value : live) looks.emplace_back(looks.size(), value);
  return series_of(looks);
}

std::vector<uint64_t> seconds_of(const SeriesChoice& choice) {
  std::vector<uint64_t> seconds;
  for (const SeriesLook* look : choice.looks) seconds.push_back((look->time_unix_ns - kStart) / kSecond);
  return seconds;
}

TEST(SeriesChoice, few_looks_are_all_chosen) {
  const Series series = series_every_second({1, 2, 3});
  EXPECT_THAT(seconds_of(choose_looks(series, 3, "x")), ElementsAre(0, 1, 2));
  EXPECT_THAT(seconds_of(choose_looks(series, 10, "x")), ElementsAre(0, 1, 2));
  EXPECT_THAT(seconds_of(choose_looks(series, 1, "x")), ElementsAre(2));
}

TEST(SeriesChoice, many_are_chosen_evenly_over_the_time) {
  const Series series = series_every_second(std::vector<double>(10'001, 5));
  EXPECT_THAT(seconds_of(choose_looks(series, 5, "x")), ElementsAre(0, 2500, 5000, 7500, 10'000));
  EXPECT_EQ(choose_looks(series, 24, "x").looks.size(), 24u);
  // As thinning leaves them: the older, the further apart.  One look may be the nearest to two steps.
  const Series thinned = series_of({{0, 1}, {512, 1}, {768, 1}, {896, 1}, {960, 1}, {992, 1}, {1000, 1}});
  EXPECT_THAT(seconds_of(choose_looks(thinned, 5, "x")), ElementsAre(0, 512, 768, 1000));
}

TEST(SeriesChoice, what_a_program_holds_while_it_cleans_up_is_not_judged) {
  const Series series = series_every_second({10, 20, 30, 40, 50, 12, 3});
  const SeriesChoice choice = choose_looks(series, 10, "x");
  EXPECT_THAT(seconds_of(choice), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(choice.later, 2u);
  // What goes up and down by little is no end.
  EXPECT_EQ(choose_looks(series_every_second({100, 99, 100, 95, 93}), 10, "x").later, 0u);
  // What was freed long before the end is no end, either.
  EXPECT_EQ(choose_looks(series_every_second({100, 10, 10, 10, 10, 10}), 10, "x").later, 0u);
  EXPECT_EQ(choose_looks(series_every_second({100, 0}), 10, "x").later, 1u);
  EXPECT_EQ(choose_looks(series_every_second({0, 0}), 10, "x").later, 0u);
}

TEST(SeriesChoice, a_series_without_a_look_is_an_error) {
  EXPECT_THROW(choose_looks(series_fixture::facts(), 10, "x"), Error);
}

}  // namespace
}  // namespace memprof::profile
