// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/birth_spread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace memprof::profile {
namespace {

SiteLives with(const std::vector<double>& counts) {
  SiteLives lives;
  lives.run_ns = 16 * 60e9;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) lives.living[i].add(counts[i], counts[i], 1000 * counts[i]);
  }
  return lives;
}

TEST(BirthSpread, even_births_are_spread) {
  const BirthSpread spread = birth_spread(with(std::vector<double>(16, 10)), 16);
  EXPECT_LT(spread.p_value, 1e-6);
  EXPECT_FALSE(spread.has_stopped);
  EXPECT_FALSE(spread.is_slowing);
  EXPECT_EQ(spread.samples, 160);
  EXPECT_NEAR(spread.rate.bytes_per_minute, 10'000, 1e-6);
  EXPECT_NEAR(spread.rate.low, 10'000 * (1 - 1.96 / std::sqrt(160)), 200);
  EXPECT_NEAR(spread.rate.high, 10'000 * (1 + 1.96 / std::sqrt(160)), 300);
}

TEST(BirthSpread, what_stopped_or_begins_late_is_not) {
  std::vector<double> early(16, 0);
  std::vector<double> late(16, 0);
  for (size_t i = 0; i < 8; ++i) early[i] = late[15 - i] = 20;
  const BirthSpread stopped = birth_spread(with(early), 16);
  EXPECT_GT(stopped.p_value, 0.5);
  EXPECT_TRUE(stopped.has_stopped);
  EXPECT_EQ(stopped.last, 7u);
  const BirthSpread begun = birth_spread(with(late), 16);
  EXPECT_GT(begun.p_value, 0.5);
  EXPECT_FALSE(begun.has_stopped);
  EXPECT_EQ(begun.first, 8u);
  EXPECT_EQ(begun.dense_parts, 8u);
}

TEST(BirthSpread, what_slows_down_is_told) {
  std::vector<double> counts;
  for (int i = 0; i < 16; ++i) counts.push_back(std::round(200 * std::exp(-i / 3.0)));
  EXPECT_TRUE(birth_spread(with(counts), 16).is_slowing);
}

// Three moments of the run, each with many blocks.
TEST(BirthSpread, bursts_are_not_spread) {
  std::vector<double> counts(16, 0);
  counts[1] = counts[7] = counts[14] = 300;
  EXPECT_GT(birth_spread(with(counts), 16).p_value, 0.05);
}

TEST(BirthSpread, a_warm_up_is_no_growth) {
  std::vector<double> counts(16, 10);
  counts[0] = 5000;
  const BirthSpread spread = birth_spread(with(counts), 16);
  EXPECT_LT(spread.p_value, 1e-3);
  EXPECT_LT(spread.rate.bytes_per_minute, 13'000);  // and not that of the start
}

// 1,000 places whose growth stopped at two thirds of the run: a p-value of 0.05 or less has less than these odds.
TEST(BirthSpread, chance_is_seldom_significant) {
  std::mt19937_64 random(11);
  int significant = 0;
  for (int run = 0; run < 1000; ++run) {
    std::vector<double> counts(16, 0);
    for (int i = 0; i < 60; ++i) counts[random() % 11] += 1;
    significant += birth_spread(with(counts), 16).p_value <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(significant, 50);
}

TEST(BirthSpread, nothing_is_nothing) {
  const BirthSpread spread = birth_spread(with({}), 16);
  EXPECT_EQ(spread.samples, 0);
  EXPECT_EQ(spread.p_value, 1);
}

}  // namespace
}  // namespace memprof::profile
