// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/survival_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace memprof::profile {
namespace {

constexpr double kSecond = 1e9;

void add_life(double born_s, double lived_s, SiteLives* lives) {
  const double run_s = lives->run_ns / kSecond;
  if (born_s + lived_s < run_s) {
    lives->freed[lifetime_class(static_cast<uint64_t>(lived_s * kSecond))].add(1, 1, 1);
  } else {
    lives->living[static_cast<size_t>(born_s / run_s * kBirthParts)].add(1, 1, 1);
  }
}

// Half of the blocks live 2 s, and half for ever.
TEST(SurvivalCurve, has_a_plateau_where_blocks_are_never_freed) {
  SiteLives lives;
  lives.run_ns = 160 * kSecond;
  for (int i = 0; i < 1600; ++i) add_life(0.1 * i + 0.05, i % 2 == 0 ? 2 : 1000, &lives);
  const SurvivalCurve curve(lives);
  EXPECT_EQ(curve.points().front().share, 1);
  EXPECT_EQ(curve.points().back().age_ns, lives.run_ns);
  EXPECT_NEAR(curve.at_part(1).share, 0.5, 0.01);
  ASSERT_NE(curve.end(), nullptr);
  EXPECT_NEAR(curve.end()->share, 0.5, 0.01);
  const ShareInterval interval = SurvivalCurve::interval(*curve.end());
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * std::sqrt(0.25 / 1600), 0.01);
}

// Within what classes of half a decade leave of it.
TEST(SurvivalCurve, follows_an_exponential_through_censoring) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> lifetime(1 / 30.0);
  SiteLives lives;
  lives.run_ns = 160 * kSecond;
  for (int i = 0; i < 16000; ++i) add_life(0.01 * i, lifetime(random), &lives);
  const SurvivalCurve curve(lives);
  for (const uint32_t part : {1u, 3u, 6u, 10u}) {
    EXPECT_NEAR(curve.at_part(part).share, std::exp(-10.0 * part / 30), 0.06) << part;
  }
}

// All blocks live 100 s of 160: nothing is left of those that came to an age of 110.
TEST(SurvivalCurve, ends_at_nothing_where_the_oldest_are_freed) {
  SiteLives lives;
  lives.run_ns = 160 * kSecond;
  for (int i = 0; i < 1600; ++i) add_life(0.1 * i + 0.05, 100, &lives);
  const SurvivalCurve curve(lives);
  EXPECT_EQ(curve.at_part(5).share, 1);
  ASSERT_NE(curve.end(), nullptr);
  EXPECT_LT(curve.end()->share, 0.25);
}

// Of a thousand samples, one that stands for as many blocks as the others together.
TEST(SurvivalCurve, intervals_count_samples_and_not_blocks) {
  SiteLives equal;
  equal.run_ns = 160 * kSecond;
  equal.freed[5].add(500, 500, 500);
  equal.living[0].add(500, 500, 500);
  SiteLives unequal = equal;
  unequal.freed[6].add(1, 500, 500);
  const auto width = [](const SiteLives& lives) {
    const ShareInterval interval = SurvivalCurve::interval(*SurvivalCurve(lives).end());
    return interval.high - interval.low;
  };
  EXPECT_GT(width(unequal), 3 * width(equal));
}

// Twenty programs of which 10 % of the blocks are never freed: the interval has that in 17 and more (its odds are
// 95 %, and fewer than 17 of 20 have odds of 2 %).
TEST(SurvivalCurve, intervals_hold_what_they_promise) {
  int held = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    SiteLives lives;
    lives.run_ns = 160 * kSecond;
    for (int i = 0; i < 800; ++i) {
      add_life(0.2 * i + 0.05, random() % 10 == 0 ? 1000 : 0.5, &lives);
    }
    const ShareInterval interval = SurvivalCurve::interval(*SurvivalCurve(lives).end());
    held += interval.low <= 0.1 && 0.1 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, 17);
}

TEST(SurvivalCurve, has_no_end_without_samples) {
  SiteLives lives;
  lives.run_ns = kSecond;
  EXPECT_EQ(SurvivalCurve(lives).end(), nullptr);
}

// Of several processes: longer than the run that is told.
TEST(SurvivalCurve, takes_lifetimes_beyond_the_run) {
  SiteLives lives;
  lives.run_ns = kSecond;
  lives.freed[kLifetimeClasses - 1].add(100, 100, 100);
  lives.living[0].add(10, 10, 10);
  const SurvivalCurve curve(lives);
  for (const SurvivalPoint& point : curve.points()) {
    EXPECT_GE(point.share, 0);
    EXPECT_LE(point.share, 1);
  }
}

}  // namespace
}  // namespace memprof::profile
