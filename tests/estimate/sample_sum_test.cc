// SPDX-License-Identifier: Apache-2.0
#include "estimate/sample_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "estimate/math.h"

namespace memprof::sample_sum_test {
namespace {

constexpr uint64_t kRate = 512 * 1024;

void expect_same(const Bounds& a, const Bounds& b) {
  EXPECT_DOUBLE_EQ(a.value, b.value);
  EXPECT_DOUBLE_EQ(a.low, b.low);
  EXPECT_DOUBLE_EQ(a.high, b.high);
}

// As the engine keeps it, of samples of one size.
SampleTotals totals_of(double size, double n) {
  const double p = -std::expm1(-size / kRate);
  SampleTotals t;
  t.samples = static_cast<uint64_t>(n);
  t.size_bytes = static_cast<uint64_t>(n * size);
  t.weight_bytes = n * size / p;
  t.weight_count = n / p;
  t.variance_bytes = n * (1 - p) * size * size / p / p;
  t.variance_count = n * (1 - p) / p / p;
  t.max_missed_count = missed_beside(size / kRate);
  t.max_missed_bytes = size * t.max_missed_count;
  return t;
}

TEST(SampleSum, WhatIsAlwaysRecordedIsExact) {
  SampleSum sum;
  sum.add(100, 0, 3);
  sum.add(7, 1, 2);
  expect_same(sum.bytes(), {314, 314, 314});
  expect_same(sum.blocks(), {5, 5, 5});
  expect_same(SampleSum().bytes(), {0, 0, 0});
}

TEST(SampleSum, TheValueIsTheSumOfWeightsAndLiesInTheInterval) {
  SampleSum sum;
  double weight = 0;
  for (const uint64_t size : {16u, 4096u, 300000u, 2000000u}) {
    sum.add(size, kRate, 3);
    weight += 3 * static_cast<double>(size) / sampling_probability(size, kRate);
  }
  const Bounds bytes = sum.bytes();
  EXPECT_NEAR(weight, bytes.value, 1e-9 * weight);
  EXPECT_GT(bytes.low, 3.0 * 2304112 - 1);  // what the samples show
  EXPECT_LT(bytes.low, 0.8 * weight);
  EXPECT_GT(bytes.high, 1.2 * weight);
}

TEST(SampleSum, TotalsOfOneSizeSayWhatItsSamplesSay) {
  SampleSum samples, totals;
  samples.add(4096, kRate, 12);
  totals.add(totals_of(4096, 12));
  EXPECT_NEAR(samples.bytes().low, totals.bytes().low, 1e-5 * totals.bytes().low);
  EXPECT_NEAR(samples.bytes().high, totals.bytes().high, 1e-5 * totals.bytes().high);
  EXPECT_NEAR(samples.blocks().high, totals.blocks().high, 1e-5 * totals.blocks().high);
}

// In doubles nothing is missed of 37 R and more; the rate is known all the same.
TEST(SampleSum, TotalsOfOneLargeBlockKeepTheirRate) {
  for (const double points : {2.0, 20.0, 30.0, 36.0, 37.0, 40.0, 300.0, 699.0}) {
    const double size = points * kRate;
    SampleSum sample, totals;
    sample.add(static_cast<uint64_t>(size), kRate, 1);
    totals.add(totals_of(size, 1));
    EXPECT_GT(totals.bytes().high, size + 3 * kRate) << points;
    EXPECT_NEAR(sample.bytes().high - size, totals.bytes().high - size, 1e-3 * kRate) << points;
    EXPECT_NEAR(sample.blocks().high, totals.blocks().high, 1e-3 * kRate / 16) << points;
  }
  // Beyond 700 R the rate is taken for larger than it is: no interval is too narrow.
  SampleSum totals;
  totals.add(totals_of(1e4 * kRate, 1));
  EXPECT_GT(totals.bytes().high, 1e4 * kRate + 3 * kRate);
  EXPECT_LT(totals.bytes().high, 1.01 * 1e4 * kRate);
}

TEST(SampleSum, OrderAndPartsDoNotMatter) {
  SampleSum a, b;
  a.add(64, kRate, 5);
  a.add(1 << 20, kRate, 2);
  b.add(1 << 20, kRate, 1);
  b.add(64, kRate, 5);
  b.add(1 << 20, kRate, 1);
  expect_same(a.bytes(), b.bytes());
}

TEST(SampleSum, ABlockOfNoBytesIsABlock) {
  SampleSum sum;
  sum.add(0, kRate, 4);
  expect_same(sum.bytes(), {0, 0, 0});
  EXPECT_NEAR(4.0 * kRate, sum.blocks().value, 0.001 * kRate);
  EXPECT_GT(sum.blocks().high, sum.blocks().value);
}

constexpr double kRounding = 1e-9;

bool holds(const Bounds& bounds, double truth) {
  return bounds.low <= truth * (1 + kRounding) && truth <= bounds.high * (1 + kRounding);
}

// Of n blocks that are each sampled with p, the odds that k are.
double binomial(double n, double k, double p) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                  (n - k) * std::log1p(-p));
}

// Computed, not simulated: the interval depends on how many of either size were sampled.
class Coverage {
 public:
  Coverage(uint64_t large_size, int large, uint64_t small_size)
      : large_size_(large_size), large_(large), small_size_(small_size) {
    for (int n = 0; n <= large; ++n) {
      for (int k = 0; k < kMax; ++k) {
        SampleSum sum;
        sum.add(large_size, kRate, static_cast<uint64_t>(n));
        sum.add(small_size, kRate, static_cast<uint64_t>(k));
        bounds_.push_back(sum.bytes());
      }
    }
  }

  double of(double small) const {
    const double p_large = sampling_probability(large_size_, kRate);
    const double p_small = sampling_probability(small_size_, kRate);
    const double truth = large_ * static_cast<double>(large_size_) + small * static_cast<double>(small_size_);
    double held = 0;
    double shown = 0;
    for (int n = 0; n <= large_; ++n) {
      for (int k = n == 0 ? 1 : 0; k < kMax && k <= small; ++k) {
        const double odds = binomial(large_, n, p_large) * binomial(small, k, p_small);
        shown += odds;
        if (holds(bounds_[static_cast<size_t>(n * kMax + k)], truth)) held += odds;
      }
    }
    return held / shown;
  }

 private:
  static constexpr int kMax = 40;

  uint64_t large_size_;
  int large_;
  uint64_t small_size_;
  std::vector<Bounds> bounds_;
};

TEST(SampleSum, IntervalsHoldWhatNoSampleHasSeenBesideLargeBlocks) {
  for (const uint64_t large_size : {kRate * 13 / 10, 2 * kRate, 3 * kRate, 8 * kRate}) {
    for (const int large : {1, 3}) {
      for (const uint64_t small_size : {64U, 8192U, 100'000U}) {
        const Coverage coverage(large_size, large, small_size);
        for (double small_bytes = 0.1 * kRate; small_bytes < 10 * kRate; small_bytes += 0.1 * kRate) {
          const double small = std::round(small_bytes / static_cast<double>(small_size));
          if (small < 1) continue;
          EXPECT_GE(coverage.of(small), 0.94)
              << large << " of " << large_size << ", " << small << " of " << small_size;
        }
      }
    }
  }
}

struct Blocks {
  uint64_t size;
  uint64_t count;
};

// The share of runs in which the intervals of bytes and of blocks hold the truth, of runs with a sample.
struct Held {
  double bytes;
  double blocks;
  double bytes_of_totals;
};
Held simulate(const std::vector<Blocks>& site, std::mt19937_64& random) {
  constexpr int kRuns = 2000;
  double bytes = 0, blocks = 0;
  for (const Blocks& one : site) {
    bytes += static_cast<double>(one.size * one.count);
    blocks += static_cast<double>(one.count);
  }
  Held held{};
  int shown = 0;
  for (int run = 0; run < kRuns; ++run) {
    SampleSum sum, of_totals;
    SampleTotals totals;
    for (const Blocks& one : site) {
      const double p = sampling_probability(one.size, kRate);
      uint64_t seen = 0;
      if (one.count > 100) {  // small
        seen = std::poisson_distribution<uint64_t>(static_cast<double>(one.count) * p)(random);
      } else {
        for (uint64_t i = 0; i < one.count; ++i) seen += std::bernoulli_distribution(p)(random) ? 1 : 0;
      }
      if (seen == 0) continue;
      sum.add(one.size, kRate, seen);
      const SampleTotals more = totals_of(static_cast<double>(one.size), static_cast<double>(seen));
      totals.samples += more.samples;
      totals.size_bytes += more.size_bytes;
      totals.weight_bytes += more.weight_bytes;
      totals.weight_count += more.weight_count;
      totals.variance_bytes += more.variance_bytes;
      totals.variance_count += more.variance_count;
      totals.max_missed_bytes = std::max(totals.max_missed_bytes, more.max_missed_bytes);
      totals.max_missed_count = std::max(totals.max_missed_count, more.max_missed_count);
    }
    if (sum.samples() == 0) continue;
    ++shown;
    of_totals.add(totals);
    held.bytes += holds(sum.bytes(), bytes) ? 1 : 0;
    held.blocks += holds(sum.blocks(), blocks) ? 1 : 0;
    held.bytes_of_totals += holds(of_totals.bytes(), bytes) ? 1 : 0;
  }
  return {held.bytes / shown, held.blocks / shown, held.bytes_of_totals / shown};
}

// One to three large blocks and small ones.  Of 2,000 runs the share has a standard deviation of 0.5 %: a rule with 92 %
// would pass once in 5,000.
TEST(SampleSum, TwelveMixturesOfLargeAndSmallBlocks) {
  const std::vector<Blocks> kSites[] = {
      {{4'000'033, 1}, {200'033, 2}}, {{4'000'033, 1}, {200'033, 10}}, {{4'000'033, 1}, {1024, 101}},
      {{4'000'033, 1}, {1024, 1000}}, {{4'000'033, 1}, {1024, 1740}},  {{4'000'033, 1}, {64, 20'000}},
      {{1'048'576, 2}, {200'000, 3}}, {{1'048'576, 2}, {500, 1000}},   {{2'097'152, 3}, {100'000, 5}},
      {{700'000, 3}, {100'000, 4}},   {{10'485'760, 3}, {50'000, 30}}, {{18'000'000, 2}, {100, 20'000}}};
  std::mt19937_64 random(20261127);
  for (const std::vector<Blocks>& site : kSites) {
    const Held held = simulate(site, random);
    const std::string what = std::to_string(site[0].count) + " of " + std::to_string(site[0].size) + ", " +
                             std::to_string(site[1].count) + " of " + std::to_string(site[1].size);
    EXPECT_GE(held.bytes, 0.935) << what;
    EXPECT_GE(held.bytes_of_totals, 0.935) << what;
    EXPECT_GE(held.blocks, 0.935) << what;
  }
}

// What was seen says enough of what was not: nothing is added.
TEST(SampleSum, WhereSmallBlocksWereSeenNothingIsAllowedFor) {
  for (const uint64_t size : {64, 4096, 200'000, 500'000}) {
    MissedMass plain;
    plain.add(static_cast<double>(size), sampling_probability(size, kRate), 3);
    SampleSum sum;
    sum.add(size, kRate, 3);
    EXPECT_EQ(sum.missed_bytes().interval().high, plain.interval().high) << size;
    MissedMass blocks;
    blocks.add(1, sampling_probability(size, kRate), 3);
    EXPECT_EQ(sum.missed_blocks().interval().high, blocks.interval().high) << size;
  }
}

// Of 1 MB blocks that are seen alone, and of these among small ones.
TEST(SampleSum, OneMoreSampleOfAnySizeIsAllowedForWhereAllAreLarge) {
  SampleSum one;
  one.add(16 << 20, kRate, 1);
  EXPECT_NEAR(one.bytes().low, one.bytes().value, 1);
  // 0.7 of a sample: 97.5 % have less than ln(0.7 / 0.025) times the rate.
  EXPECT_NEAR(one.bytes().high - one.bytes().value, 3.332 * kRate, 0.003 * kRate);
  EXPECT_NEAR(one.blocks().high - one.blocks().value, 3.332 * kRate / 16, 0.003 * kRate / 16);
  SampleSum many;
  many.add(8 << 20, kRate, 100);
  EXPECT_LT(many.bytes().high, 1.003 * many.bytes().value);
  SampleSum exact;
  exact.add(16 << 20, 1, 1);
  EXPECT_EQ(exact.bytes().high, 16 << 20);
  SampleSum both;
  both.add(16 << 20, kRate, 1);
  both.add(64, kRate, 20);
  SampleSum small;
  small.add(64, kRate, 20);
  EXPECT_NEAR(both.bytes().high - (16 << 20), small.bytes().high, 1e-4 * small.bytes().high);
}

}  // namespace
}  // namespace memprof::sample_sum_test
