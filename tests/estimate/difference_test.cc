// SPDX-License-Identifier: Apache-2.0
#include "estimate/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace memprof::difference_test {
namespace {

constexpr uint64_t kRate = 1024;

SampleSum sum_of(uint64_t size_bytes, uint64_t samples, uint64_t rate_bytes = kRate) {
  SampleSum sum;
  sum.add(size_bytes, rate_bytes, samples);
  return sum;
}

TEST(Difference, OfExactSumsIsExact) {
  const Bounds bytes = difference_of(sum_of(10, 5, 0), sum_of(10, 8, 0), true);
  EXPECT_EQ(30, bytes.value);
  EXPECT_NEAR(30, bytes.low, 1e-6);
  EXPECT_NEAR(30, bytes.high, 1e-6);
  EXPECT_NEAR(3, difference_of(sum_of(10, 5, 0), sum_of(10, 8, 0), false).value, 1e-12);
}

TEST(Difference, OfNothingAndOfEqualsIsNoChange) {
  const Bounds none = difference_of(SampleSum(), SampleSum(), true);
  EXPECT_EQ(0, none.value);
  EXPECT_EQ(0, none.low);
  EXPECT_EQ(0, none.high);
  const Bounds same = difference_of(sum_of(64, 10), sum_of(64, 10), true);
  EXPECT_EQ(0, same.value);
  EXPECT_LT(same.low, 0);
  EXPECT_GT(same.high, 0);
}

TEST(Difference, ASideWithoutASampleMayHaveMissedSome) {
  const Bounds one = difference_of(SampleSum(), sum_of(64, 1), true);
  EXPECT_GT(one.value, 0);
  EXPECT_LT(one.low, 0);  // one sample more is no sign of growth
  const Bounds many = difference_of(SampleSum(), sum_of(64, 20), true);
  EXPECT_GT(many.low, 0);
  const Bounds gone = difference_of(sum_of(64, 20), SampleSum(), true);
  EXPECT_LT(gone.high, 0);
  EXPECT_DOUBLE_EQ(-many.value, gone.value);
}

// Two programs that hold 200 blocks of 64 bytes and as many more as `growth`: 2,000 pairs with a fixed seed. The
// standard deviation of a share of 95 % is 0.5 %, so 92.5 % is five of them away.
TEST(Difference, TheIntervalHoldsTheTruth) {
  std::mt19937_64 random(20260101);
  for (const int growth : {0, 100}) {
    std::binomial_distribution<uint64_t> before(200, sampling_probability(64, kRate));
    std::binomial_distribution<uint64_t> after(200 + growth, sampling_probability(64, kRate));
    int held = 0;
    for (int i = 0; i < 2000; ++i) {
      const Bounds bytes = difference_of(sum_of(64, before(random)), sum_of(64, after(random)), true);
      held += bytes.low <= 64.0 * growth && 64.0 * growth <= bytes.high;
    }
    EXPECT_GE(held, 1850) << growth;
  }
}

TEST(Difference, UnseenBlocksAreThoseOfTheOtherSideAtThisRate) {
  const MissedMass::Kind kind{64, 1000};
  const Shown sampled{kRate, kind, 5000, 80, true};
  EXPECT_EQ(0, unseen_kind(0, sampled).mean);
  EXPECT_NEAR(1000, unseen_kind(kRate, sampled).mean, 1e-9);
  EXPECT_GT(unseen_kind(4 * kRate, sampled).mean, 3000);
  const Shown exact{0, {}, 5000, 80, true};
  EXPECT_EQ(double{kRate}, unseen_kind(kRate, exact).mean);
  const Shown exact_blocks{0, {}, 5000, 80, false};
  EXPECT_NEAR(kRate * 80 / 5000.0, unseen_kind(kRate, exact_blocks).mean, 1e-9);
  EXPECT_EQ(0, unseen_kind(kRate, {0, {}, 0, 0, true}).mean);
}

}  // namespace
}  // namespace memprof::difference_test
