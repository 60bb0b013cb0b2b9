// SPDX-License-Identifier: Apache-2.0
#include "format/lifetime_class.h"

#include <gtest/gtest.h>

namespace memprof::lifetime_class_test {
namespace {

uint32_t counted_class(uint64_t lifetime_ns) {
  uint32_t index = 0;
  while (index < kLifetimeBounds && lifetime_ns >= kLifetimeScale.bounds_ns[index]) {
    ++index;
  }
  return index;
}

TEST(LifetimeClass, IsTheOneBetweenItsBounds) {
  for (int octave = 0; octave < 64; ++octave) {
    for (int64_t step = -2; step <= 2; ++step) {
      const uint64_t lifetime_ns = (uint64_t{1} << octave) + static_cast<uint64_t>(step);
      ASSERT_EQ(counted_class(lifetime_ns), lifetime_class(lifetime_ns)) << lifetime_ns;
    }
  }
  for (const uint64_t bound_ns : kLifetimeScale.bounds_ns) {
    ASSERT_EQ(counted_class(bound_ns - 1), lifetime_class(bound_ns - 1));
    ASSERT_EQ(counted_class(bound_ns), lifetime_class(bound_ns));
  }
  EXPECT_EQ(0u, lifetime_class(0));
  EXPECT_EQ(kLifetimeClasses - 1, lifetime_class(UINT64_MAX));
}

TEST(LifetimeClass, BeginsAndEnds) {
  EXPECT_EQ(0u, lifetime_class_begin_ns(0));
  EXPECT_EQ(1000u, lifetime_class_end_ns(0));
  EXPECT_EQ(10000000u, lifetime_class_begin_ns(lifetime_class(10000000)));
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    const double mean = lifetime_class_mean_ns(i);
    EXPECT_LT(static_cast<double>(lifetime_class_begin_ns(i)), mean);
    EXPECT_LT(mean, static_cast<double>(lifetime_class_end_ns(i)));
  }
}

TEST(LifetimeClass, ATimeMeansTheBoundNextToIt) {
  EXPECT_EQ(0u, lifetime_classes_within(0));
  EXPECT_EQ(1u, lifetime_classes_within(1));
  const auto bound = [](uint64_t ns) { return lifetime_class_begin_ns(lifetime_classes_within(ns)); };
  EXPECT_EQ(1000u, bound(1000));
  EXPECT_EQ(10000000u, bound(10000000));
  EXPECT_EQ(10000000u, bound(12000000));
  EXPECT_EQ(30000000u, bound(20000000));
  EXPECT_EQ(30000000u, bound(30000000));
  EXPECT_EQ(10000000u, bound(9000000));
  EXPECT_EQ(kLifetimeScale.bounds_ns[kLifetimeBounds - 1], bound(UINT64_MAX));
}

struct Sums {
  uint64_t samples;
  uint64_t size_bytes;
  double weight_bytes;
  double weight_count;
  double variance_bytes;
  double variance_count;
  double max_missed_bytes;
  double max_missed_count;
};

TEST(YoungerTotals, ExactOnesStayExact) {
  const Sums all{10, 1000, 1000, 10, 0, 0, 0, 0};
  const Lifetime classes[] = {{0, 3, 2, 200, 200, 2}, {0, 9, 4, 400, 400, 4}};
  const Sums young = younger_totals(all, classes, 2, 9);
  EXPECT_EQ(2u, young.samples);
  EXPECT_EQ(200.0, young.weight_bytes);
  EXPECT_EQ(0.0, young.variance_bytes + young.max_missed_bytes + young.max_missed_count);
  EXPECT_EQ(6u, younger_totals(all, classes, 2, 10).samples);
}

// Sizes differ: at most what a sample of the stack missed.
TEST(YoungerTotals, OfSeveralSizesHaveAShareOfTheVariance) {
  const Sums all{3, 1164, 100 + 2000, 50 + 4, 400, 200, 90, 49};
  const Lifetime classes[] = {{0, 3, 2, 1064, 1050, 52}};
  const Sums young = younger_totals(all, classes, 1, 5);
  EXPECT_DOUBLE_EQ(400 * 1050.0 / 2100, young.variance_bytes);
  EXPECT_DOUBLE_EQ(200 * 52.0 / 54, young.variance_count);
  EXPECT_EQ(90.0, young.max_missed_bytes);
  EXPECT_EQ(49.0, young.max_missed_count);
}

// Nothing is missed of blocks of many R; their sums say the rate all the same.
TEST(YoungerTotals, OfLargeBlocksKeepTheirRate) {
  const Sums all{3, 300000, 300000, 3, 0, 0, 1e-20, 1e-25};
  const Lifetime classes[] = {{0, 3, 2, 200000, 200000, 2}};
  const Sums young = younger_totals(all, classes, 1, 5);
  EXPECT_EQ(200000.0, young.weight_bytes);
  EXPECT_EQ(0.0, young.variance_bytes);
  EXPECT_EQ(1e-20, young.max_missed_bytes);
  EXPECT_EQ(1e-25, young.max_missed_count);
}

}  // namespace
}  // namespace memprof::lifetime_class_test
