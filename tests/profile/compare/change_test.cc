// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kRate = 1 << 19;
constexpr Metric kLive = Metric::kInuseSpace;
constexpr Metric kAllocated = Metric::kAllocSpace;

SideSum side(std::vector<LiveGroup> groups) {
  Accumulator sum;
  for (const LiveGroup& group : groups) sum.add_live(group);
  SideSum side;
  side.add_file(sum);
  return side;
}

SideFacts facts(uint64_t rate = kRate, size_t files = 1) {
  SideFacts facts;
  facts.rate_bytes = rate;
  facts.files = files;
  return facts;
}

double p_of(const SideSum& before, const SideSum& after, uint64_t rate_before = kRate,
            uint64_t rate_after = kRate, Metric metric = kLive) {
  return tested_change(before, after, facts(rate_before), facts(rate_after), metric).p_value;
}

TEST(Change, FewSamplesOfSmallBlocksAreTheBinomialTest) {
  // Given n samples on both sides, each is on either with probability 1/2.
  EXPECT_NEAR(p_of(side({}), side({{64, kRate, 8}})), 2.0 / 256, 0.15 * 2 / 256);
  EXPECT_NEAR(p_of(side({{64, kRate, 8}}), side({})), 2.0 / 256, 0.15 * 2 / 256);
  EXPECT_NEAR(p_of(side({{64, kRate, 3}}), side({{64, kRate, 15}})), 2 * 988.0 / 262144, 0.1 * 0.0075);
  EXPECT_NEAR(p_of(side({}), side({{64, kRate, 16}})), 2.0 / 65536, 0.2 * 2 / 65536);
}

TEST(Change, OneNewSampleIsNoNews) {
  EXPECT_GT(p_of(side({}), side({{64, kRate, 1}})), 0.4);
  EXPECT_GT(p_of(side({}), side({{kRate, kRate, 1}})), 0.2);
  // One block of three times the rate: each side misses it with q = e^-3.
  const double q = std::exp(-3);
  EXPECT_NEAR(p_of(side({}), side({{3 * kRate, kRate, 1}})), 2 * q / (1 + q), 1e-6);
  // Twenty times: nobody misses it.
  EXPECT_LT(p_of(side({}), side({{20 * kRate, kRate, 1}})), 1e-6);
}

TEST(Change, TheRatesOfBothSidesCount) {
  // Eight samples at an eighth of the rate stand for one sample's worth: P(none) = (8/9)^8 each way.
  const double expected = 2 * std::pow(8.0 / 9, 8);
  EXPECT_NEAR(p_of(side({}), side({{64, kRate / 8, 8}}), kRate, kRate / 8), std::min(1.0, expected), 0.5);
  EXPECT_GT(p_of(side({}), side({{64, kRate / 8, 8}}), kRate, kRate / 8), 0.2);
  // 64 of them would be eight.
  const double p = p_of(side({}), side({{64, kRate / 8, 64}}), kRate, kRate / 8);
  EXPECT_NEAR(p, 2 * std::pow(8.0 / 9, 64), 0.15 * p);
  // The other way round one sample is eight times what the finer side would have seen: P(1 or more of 9).
  EXPECT_NEAR(p_of(side({{64, kRate, 1}}), side({}), kRate, kRate / 8), 2.0 / 9, 0.02);
}

TEST(Change, AnExactSideHasNoDoubt) {
  EXPECT_EQ(p_of(side({{64, 0, 100}}), side({{64, 0, 100}}), 0, 0), 1);
  EXPECT_EQ(p_of(side({{64, 0, 100}}), side({{64, 0, 101}}), 0, 0), 0);
  const Change change = whole_change(side({{64, 0, 100}}), side({{64, 0, 101}}), facts(0), facts(0), kLive);
  EXPECT_EQ(change.low, 64);
  EXPECT_EQ(change.high, 64);
  // 100 blocks of 64 B are nothing at a rate of 512 KiB, bytes or blocks.
  for (const Metric metric : {Metric::kInuseSpace, Metric::kInuseObjects}) {
    EXPECT_GT(p_of(side({}), side({{64, 0, 100}}), kRate, 0, metric), 0.9);
    EXPECT_GT(p_of(side({{64, 0, 100}}), side({}), 0, kRate, metric), 0.9);
    // 10 MB of them cannot be missed: e^-20 each way.
    EXPECT_LT(p_of(side({}), side({{64, 0, 163840}}), kRate, 0, metric), 1e-6);
  }
}

TEST(Change, TheIntervalAndPAgree) {
  std::mt19937 random(7);  // NOLINT: fixed, so that a failure can be seen again
  std::uniform_int_distribution<uint64_t> few(0, 20);
  const uint64_t sizes[] = {64, kRate / 3, kRate, 3 * kRate};
  for (int i = 0; i < 200; ++i) {
    std::vector<LiveGroup> b;
    std::vector<LiveGroup> a;
    for (const uint64_t size : sizes) {
      if (few(random) < 8) b.push_back({size, kRate, few(random)});
      if (few(random) < 8) a.push_back({size, kRate, few(random)});
    }
    const Change change = whole_change(side(b), side(a), facts(), facts(), kLive);
    EXPECT_LE(change.low, change.value);
    EXPECT_GE(change.high, change.value);
    if (change.p_value < 0.045) {
      EXPECT_TRUE(change.low > 0 || change.high < 0) << i << " " << change.p_value;
    }
    if (change.p_value > 0.055) {
      EXPECT_TRUE(change.low <= 0 && change.high >= 0) << i << " " << change.p_value;
    }
  }
}

// What a side is whose process holds these blocks, at the rate: each block is sampled by itself.
struct Blocks {
  uint64_t size;
  uint64_t count;
};
SideSum sampled(const std::vector<Blocks>& truth, uint64_t rate, bool is_live, std::mt19937* random) {
  Accumulator sum;
  for (const Blocks& blocks : truth) {
    const double p = sampling_probability(blocks.size, rate);
    const uint64_t samples = std::binomial_distribution<uint64_t>(blocks.count, p)(*random);
    if (samples == 0) continue;
    if (is_live) {
      sum.add_live({blocks.size, rate, samples});
      continue;
    }
    const auto n = static_cast<double>(samples);
    const auto s = static_cast<double>(blocks.size);
    sum.add_allocated({samples, samples * blocks.size, n * s / p, n / p, n * (1 - p) * s * s / (p * p),
                       n * (1 - p) / (p * p), (1 - p) * s / p, (1 - p) / p});
  }
  SideSum side;
  side.add_file(sum);
  return side;
}

struct Case {
  std::vector<Blocks> truth;
  uint64_t rate_before;
  uint64_t rate_after;
};

// Expected samples from less than one to a hundred, small blocks, large ones and both.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const uint64_t rate_after : {kRate, kRate / 8}) {
    for (const uint64_t expected : {1, 3, 10, 100}) {
      all.push_back({{{64, expected * kRate / 64}}, kRate, rate_after});
      all.push_back({{{kRate / 3, 3 * expected}}, kRate, rate_after});
      all.push_back({{{kRate, expected}}, kRate, rate_after});
      all.push_back({{{3 * kRate, expected}, {100, expected * kRate / 100}}, kRate, rate_after});
    }
  }
  return all;
}

// 1000 pairs a case: a false alarm rate of 13 % is found for certain.
TEST(Change, EqualProgramsDifferByChanceAsOftenAsPSays) {
  constexpr int kPairs = 1000;
  std::mt19937 random(11);  // NOLINT: fixed, so that a failure can be seen again
  for (const Case& one : cases()) {
    for (const Metric metric : {kLive, kAllocated, Metric::kInuseObjects}) {
      int small = 0;
      int tiny = 0;
      for (int i = 0; i < kPairs; ++i) {
        const bool is_live = metric != kAllocated;
        const SideSum before = sampled(one.truth, one.rate_before, is_live, &random);
        const SideSum after = sampled(one.truth, one.rate_after, is_live, &random);
        const double p = p_of(before, after, one.rate_before, one.rate_after, metric);
        small += p <= 0.05 ? 1 : 0;
        tiny += p <= 0.001 ? 1 : 0;
      }
      const std::string what = std::to_string(one.truth[0].size) + " x " +
                               std::to_string(one.truth[0].count) + " rate " +
                               std::to_string(one.rate_after) + " " + metric_name(metric);
      // Six standard deviations over 5 %, and over 0.1 %.
      EXPECT_LE(small, kPairs * 0.05 + 6 * std::sqrt(kPairs * 0.05 * 0.95)) << what;
      EXPECT_LE(tiny, kPairs * 0.001 + 6 * std::sqrt(kPairs * 0.001)) << what;
    }
  }
}

TEST(Change, TheIntervalHoldsTheTruth) {
  constexpr int kPairs = 400;
  std::mt19937 random(13);  // NOLINT: fixed, so that a failure can be seen again
  for (const Case& one : cases()) {
    // Half as much again.
    std::vector<Blocks> more = one.truth;
    double growth = 0;
    for (Blocks& blocks : more) {
      const uint64_t added = (blocks.count + 1) / 2;
      blocks.count += added;
      growth += static_cast<double>(added * blocks.size);
    }
    int held = 0;
    for (int i = 0; i < kPairs; ++i) {
      const Change change = whole_change(sampled(one.truth, one.rate_before, true, &random),
                                         sampled(more, one.rate_after, true, &random), facts(one.rate_before),
                                         facts(one.rate_after), kLive);
      held += change.low <= growth && growth <= change.high ? 1 : 0;
    }
    // Six standard deviations below 95 %.
    EXPECT_GE(held, kPairs * 0.95 - 6 * std::sqrt(kPairs * 0.05 * 0.95))
        << one.truth[0].size << " x " << one.truth[0].count << " rate " << one.rate_after;
  }
}

TEST(Change, AGrowthOfThreeIntervalsIsFound) {
  constexpr int kPairs = 200;
  std::mt19937 random(17);  // NOLINT: fixed, so that a failure can be seen again
  // 100 samples before: an interval of some 20 samples each way; 160 after.
  int found = 0;
  for (int i = 0; i < kPairs; ++i) {
    const SideSum before = sampled({{64, 100 * kRate / 64}}, kRate, true, &random);
    const SideSum after = sampled({{64, 160 * kRate / 64}}, kRate, true, &random);
    found += p_of(before, after) <= 0.05 ? 1 : 0;
  }
  EXPECT_GE(found, kPairs * 95 / 100);
}

TEST(Change, TheSpreadOfFilesCounts) {
  // Five files a side, of thousands of samples each, that differ by more than sampling does.
  const auto files = [](std::vector<uint64_t> samples) {
    SideSum side;
    for (const uint64_t n : samples) {
      Accumulator sum;
      sum.add_live({64, kRate, n});
      side.add_file(sum);
    }
    return side;
  };
  const SideSum before = files({8000, 12000, 9000, 11000, 10000});
  const SideSum after = files({9000, 13000, 10000, 12000, 11000});
  const Change spread = whole_change(before, after, facts(kRate, 5), facts(kRate, 5), kLive);
  EXPECT_NEAR(spread.value, 1000.0 * (kRate + 32), 1000.0);
  EXPECT_GT(spread.p_value, 0.3);  // t about 1 with 8 degrees of freedom: 0.347
  EXPECT_LT(spread.p_value, 0.4);
  EXPECT_LT(spread.low, 0);
  // As much is certain between files that agree.
  const SideSum calm = files({10000, 10000, 10000, 10000, 10000});
  const SideSum more = files({11000, 11000, 11000, 11000, 11000});
  const Change certain = whole_change(calm, more, facts(kRate, 5), facts(kRate, 5), kLive);
  EXPECT_LT(certain.p_value, 1e-6);
  EXPECT_GT(certain.low, 800.0 * kRate);
  EXPECT_LT(certain.high, 1200.0 * kRate);
}

TEST(Change, FilesWithoutStatisticsAreTestedByTheirSpreadOnly) {
  const auto files = [](std::vector<double> values) {
    SideSum side;
    for (const double value : values) {
      Accumulator sum;
      std::array<double, kMetricCount> all{};
      all[metric_index(kLive)] = value;
      sum.add_values(all);
      side.add_file(sum);
    }
    return side;
  };
  SideFacts foreign = facts();
  foreign.has_intervals = false;
  const Change alone = whole_change(files({100}), files({1e9}), foreign, foreign, kLive);
  EXPECT_FALSE(alone.is_tested);
  EXPECT_EQ(alone.p_value, 1);
  EXPECT_EQ(alone.low, alone.value);
  foreign.files = 3;
  const Change three = whole_change(files({100, 101, 102}), files({200, 201, 202}), foreign, foreign, kLive);
  EXPECT_TRUE(three.is_tested);
  EXPECT_LT(three.p_value, 1e-4);
  EXPECT_EQ(three.value, 100);
  EXPECT_FALSE(three.before.has_interval);
}

}  // namespace
}  // namespace memprof::profile
