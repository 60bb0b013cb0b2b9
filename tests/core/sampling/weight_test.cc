// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/sampling/sampler.h"

namespace memprof::weight_test {
namespace {

constexpr uint64_t kRate = 512 * 1024;

TEST(Weight, IsHorvitzThompson) {
  for (const uint64_t rate : {2ull, 512ull, 65536ull, 524288ull, 1ull << 30, 1ull << 50}) {
    for (const uint64_t size :
         {1ull, 16ull, 64ull, 4096ull, 524288ull, 10485760ull, 1ull << 30, 1ull << 47}) {
      const double p = -std::expm1(-static_cast<double>(size) / static_cast<double>(rate));
      const Weight w = weigh(size, rate);
      EXPECT_NEAR(1.0, w.probability / p, 1e-15) << size << " at " << rate;
      const double points = std::min(static_cast<double>(size) / static_cast<double>(rate), 700.0);
      EXPECT_NEAR(1.0, w.missed * std::expm1(points), 1e-13) << size << " at " << rate;
      EXPECT_NEAR(1.0, w.count * p, 1e-15) << size << " at " << rate;
      EXPECT_NEAR(1.0, w.bytes * p / static_cast<double>(size), 1e-15) << size << " at " << rate;
    }
  }
}

TEST(Weight, TheExamplesOfTheHeader) {
  EXPECT_NEAR(0.000122, weigh(64, kRate).probability, 5e-7);
  EXPECT_NEAR(8192.5, weigh(64, kRate).count, 0.05);
  EXPECT_NEAR(524320, weigh(64, kRate).bytes, 0.5);
  EXPECT_NEAR(0.632, weigh(kRate, kRate).probability, 5e-4);
  EXPECT_NEAR(1.58, weigh(kRate, kRate).count, 5e-3);
  EXPECT_NEAR(0.99995, weigh(10 * kRate, kRate).probability, 5e-6);
}

TEST(Weight, RatesZeroAndOneAreExact) {
  for (const uint64_t rate : {0ull, 1ull}) {
    for (const uint64_t size : {0ull, 1ull, 64ull, 1ull << 40}) {
      const Weight w = weigh(size, rate);
      EXPECT_EQ(1.0, w.probability);
      EXPECT_EQ(1.0, w.count);
      EXPECT_EQ(static_cast<double>(size), w.bytes);
    }
  }
}

TEST(Weight, Lesson16SampledSizes) {
  // Size 0 is one byte of the line and 0 bytes of the sum.
  EXPECT_EQ(weigh(1, kRate).probability, weigh(0, kRate).probability);
  EXPECT_EQ(weigh(1, kRate).count, weigh(0, kRate).count);
  EXPECT_EQ(0.0, weigh(0, kRate).bytes);
  // One byte stands for R bytes and a half (the next term of the series is 1 / 12 R).
  EXPECT_NEAR(kRate + 0.5, weigh(1, kRate).bytes, 1e-6);
  EXPECT_NEAR(kRate / (1 - std::exp(-1.0)), weigh(kRate, kRate).bytes, 1e-6);
  EXPECT_NEAR(1.0, weigh(10 * kRate, kRate).count, 1e-4);
  EXPECT_EQ(1073741824.0, weigh(1u << 30, kRate).bytes);
  const uint64_t max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(static_cast<double>(max), weigh(max, kRate).bytes);
  EXPECT_TRUE(std::isfinite(weigh(UINT64_MAX, kMaxRateBytes).bytes));
  EXPECT_TRUE(std::isfinite(weigh(0, UINT64_MAX).count));
}

TEST(Weight, Lesson24CountsAreNotRounded) {
  // Rounded to a whole number, a block of R bytes would count 27 % too much.
  const double count = weigh(kRate, kRate).count;
  EXPECT_NEAR(1.5819767068693265, count, 1e-14);
  EXPECT_GT(std::fabs(count - std::round(count)), 0.4);
}

}  // namespace
}  // namespace memprof::weight_test
