// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/slope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace memprof::profile {
namespace {

TEST(Slope, is_that_of_the_line) {
  const auto slope = slope_of({{0, 10}, {1, 19}, {2, 31}, {3, 40}, {4, 49}, {5, 61}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, 10.5, 1e-9);  // the last three
  EXPECT_LT(slope->low, 10);
  EXPECT_GT(slope->high, 11);
  EXPECT_LT(slope->p_value, 0.05);
}

// By a table of Student's distribution: with two degrees of freedom 4.303 standard errors.
TEST(Slope, has_the_interval_of_student) {
  const auto slope = slope_of({{-4, 0}, {-3, 0}, {-2, 0}, {0, 1}, {1, -1}, {2, 1}, {3, -1}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, -0.4, 1e-9);
  EXPECT_NEAR(slope->high - slope->bytes_per_minute, 4.303 * std::sqrt(3.2 / 2 / 5), 1e-3);
  EXPECT_EQ(slope->p_value, 1);
}

TEST(Slope, leaves_the_beginning_out) {
  const auto slope = slope_of({{0, 0}, {1, 100}, {2, 200}, {3, 300}, {4, 301}, {5, 299}, {6, 300}, {7, 300}});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, 0, 1);
  EXPECT_LT(slope->low, 0);
}

TEST(Slope, needs_three_looks_at_different_times) {
  EXPECT_FALSE(slope_of({{0, 1}, {1, 2}}));
  EXPECT_FALSE(slope_of({{1, 1}, {1, 2}, {1, 3}}));
  const auto exact = slope_of({{0, 1}, {1, 2}, {2, 3}});
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->p_value, 0);
  EXPECT_NEAR(exact->low, 1, 1e-9);
}

// A line without any spread, of 25 samples that came, and 1 that went, of a megabyte each.
TEST(Slope, is_no_better_known_than_chance_allows) {
  std::vector<Look> looks;
  for (int i = 0; i < 9; ++i) {
    Look look;
    look.minutes = i;
    look.samples = 100 + 6 * i;
    look.bytes = 1e6 * look.samples;
    look.square_bytes = 1e12 * look.samples;
    look.events = 6.5 * i;
    looks.push_back(look);
  }
  const auto slope = slope_of(looks);
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->bytes_per_minute, 6e6, 1);
  // Of the last five looks: 26 events in 4 minutes.
  const double deviation = std::sqrt(1.2 * 26) * 1e6 / 4;
  EXPECT_NEAR(slope->high - slope->bytes_per_minute, 1.96 * deviation, 1e3);
  EXPECT_NEAR(slope->p_value, std::erfc(6e6 / deviation / std::sqrt(2)) / 2, 1e-9);
  // What comes and goes all the time: two levels differ by no more than two counts do.
  for (Look& look : looks) look.events *= 1000;
  const double of_counts = std::sqrt(1.2 * (124 + 148)) * 1e6 / 4;
  EXPECT_NEAR(slope_of(looks)->high - 6e6, 1.96 * of_counts, 1e3);
  // Nothing came: so it may be for a while though it grows.
  for (Look& look : looks) look.bytes = look.samples = look.square_bytes = look.events = 1;
  EXPECT_GT(slope_of(looks)->high, 0.9);
}

TEST(Slope, is_of_the_later_half) {
  EXPECT_EQ(first_of_line(2), 0u);
  EXPECT_EQ(first_of_line(3), 0u);
  EXPECT_EQ(first_of_line(5), 2u);
  EXPECT_EQ(first_of_line(24), 12u);
}

TEST(BusyLooks, leaves_out_idle_time) {
  // A look each minute: ten of load, twenty of nothing, ten of load, and one at the end of an hour of nothing.
  std::vector<LookTime> looks = {{0, 0, 1000}};
  for (int i = 1; i <= 40; ++i) {
    looks.push_back({static_cast<double>(i), looks.back().freed_bytes + (i <= 10 || i > 30 ? 1e6 : 0), 1000});
  }
  looks.push_back({100, looks.back().freed_bytes, 1000});
  const std::vector<BusyTime> busy = busy_looks(looks);
  ASSERT_EQ(busy.size(), 21u);
  EXPECT_EQ(busy.back().index, 40u);
  EXPECT_DOUBLE_EQ(busy.back().minutes, 20);
  EXPECT_DOUBLE_EQ(busy[10].minutes, 10);
  EXPECT_EQ(busy[11].index, 31u);
}

TEST(BusyLooks, chance_is_no_idle_time) {
  // Two samples a look on average: none is there now and then.
  std::vector<LookTime> looks = {{0, 0, 500'000}};
  for (int i = 1; i <= 20; ++i) {
    looks.push_back({static_cast<double>(i), looks.back().freed_bytes + (i % 5 == 0 ? 0 : 1e6), 500'000});
  }
  EXPECT_EQ(busy_looks(looks).size(), looks.size());
}

TEST(BusyLooks, what_never_frees_and_what_loses_a_process_is_busy) {
  const std::vector<LookTime> never = {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}};
  EXPECT_EQ(busy_looks(never).size(), 3u);
  const std::vector<LookTime> ended = {{0, 5e6, 1}, {1, 9e6, 1}, {2, 1e6, 1}, {3, 20e6, 1}};
  EXPECT_EQ(busy_looks(ended).size(), 4u);
  EXPECT_TRUE(busy_looks({}).empty());
}

}  // namespace
}  // namespace memprof::profile
