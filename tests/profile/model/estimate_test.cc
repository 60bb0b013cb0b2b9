// SPDX-License-Identifier: Apache-2.0
//
// How often do the 95 % intervals hold the truth?  For blocks of one size that is computed exactly: the
// interval depends on the number of samples k only, and k is binomial.  For mixtures it is simulated with
// fixed seeds; of 4000 runs the share has a standard deviation of 0.34 %, and a rule that holds the truth in
// less than 92.5 % of all cases would pass the bar of 94 % once in a thousand.
#include "profile/model/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "profile/model/metric.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

constexpr double kR = kTestRate;
constexpr uint64_t kSizes[] = {1,      16,      64,      1024,    16384,    131072,
                               524288, 1048576, 1572864, 8388608, 67108864, 1 << 30};

// What a truth is drawn for: the peak's sums are totals like those of what was allocated.
constexpr Metric kTruthMetrics[] = {Metric::kAllocObjects, Metric::kAllocSpace, Metric::kInuseObjects,
                                    Metric::kInuseSpace};

TEST(Probability, is_exact_at_both_ends) {
  EXPECT_EQ(sampling_probability(100, 0), 1);
  EXPECT_EQ(sampling_probability(100, 1), 1);
  EXPECT_EQ(sampling_probability(0, kTestRate), sampling_probability(1, kTestRate));
  EXPECT_NEAR(sampling_probability(1, kTestRate), 1 / kR, 1e-6 / kR);
  EXPECT_NEAR(sampling_probability(kTestRate, kTestRate), 0.6321205588, 1e-9);
  EXPECT_EQ(sampling_probability(UINT64_MAX, kTestRate), 1);
}

TEST(Estimate, everything_recorded_is_exact) {
  for (const uint64_t rate : {0, 1}) {
    Stack stack;
    stack.has_statistics = true;
    stack.live = {{100, rate, 7}, {0, rate, 2}};
    add_samples(stack.allocated, 100, 9, rate);
    add_samples(stack.peak, 100, 5, rate);
    Accumulator sum;
    sum.add(stack);
    for (const Metric metric : kMetrics) {
      const Estimate estimate = sum.estimate(metric);
      const double truth[kMetricCount] = {9, 900, 9, 700, 5, 500};  // nothing is temporary
      EXPECT_EQ(estimate.value, truth[metric_index(metric)]);
      EXPECT_EQ(estimate.low, estimate.value);
      EXPECT_EQ(estimate.high, estimate.value);
      EXPECT_TRUE(estimate.has_interval);
    }
  }
}

TEST(Estimate, blocks_of_no_bytes_count_as_blocks) {
  Accumulator sum;
  sum.add_live({0, kTestRate, 3});
  EXPECT_EQ(sum.estimate(Metric::kInuseSpace).high, 0);
  EXPECT_NEAR(sum.estimate(Metric::kInuseObjects).value, 3 * kR, 3);
  EXPECT_GT(sum.estimate(Metric::kInuseObjects).high, 5 * kR);
}

TEST(Estimate, nothing_is_zero) {
  for (const Metric metric : kMetrics) {
    EXPECT_EQ(Accumulator().estimate(metric).value, 0);
    EXPECT_EQ(Accumulator().estimate(metric).high, 0);
  }
}

TEST(Estimate, without_statistics_the_values_stand_alone) {
  Stack stack;
  stack.values = {1, 2, 3, 4};
  Accumulator sum;
  sum.add_live({64, kTestRate, 1});
  sum.add(stack);
  EXPECT_FALSE(sum.estimate(Metric::kAllocObjects).has_interval);
  EXPECT_EQ(sum.estimate(Metric::kAllocObjects).value, 1);
  EXPECT_EQ(estimated_value(stack, Metric::kInuseSpace), 4);
}

TEST(Estimate, few_values_without_statistics_widen_the_interval_of_a_sum) {
  Accumulator known;
  known.add_live({64, kTestRate, 100});
  const Estimate whole = known.estimate(Metric::kInuseSpace);
  Stack stack;
  stack.values[metric_index(Metric::kInuseSpace)] = std::floor(whole.value / 100);
  Accumulator sum = known;
  sum.add(stack);
  const Estimate wider = sum.estimate(Metric::kInuseSpace);
  EXPECT_TRUE(wider.has_interval);
  const double doubtful = stack.values[metric_index(Metric::kInuseSpace)];
  EXPECT_NEAR(wider.value, whole.value + doubtful, 1e-6 * whole.value);
  EXPECT_NEAR(wider.low, whole.low, 1e-6 * whole.low);
  EXPECT_NEAR(wider.high, whole.high + 2 * doubtful, 1e-6 * whole.high);
  EXPECT_FALSE(sum.has_interval(Metric::kAllocSpace));  // nothing else is known of it
  Accumulator one;
  one.add(stack);
  EXPECT_FALSE(one.estimate(Metric::kInuseSpace).has_interval);
  sum.add(one);
  EXPECT_FALSE(sum.estimate(Metric::kInuseSpace).has_interval);
}

TEST(Estimate, totals_and_live_blocks_of_one_size_agree) {
  for (const uint64_t size : kSizes) {
    Accumulator sum;
    Totals totals;
    add_samples(totals, size, 7);
    sum.add_allocated(totals);
    sum.add_live({size, kTestRate, 7});
    for (const auto& [alloc, live] : {std::pair(Metric::kAllocSpace, Metric::kInuseSpace),
                                      std::pair(Metric::kAllocObjects, Metric::kInuseObjects)}) {
      const Estimate a = sum.estimate(alloc);
      const Estimate b = sum.estimate(live);
      EXPECT_NEAR(a.value, b.value, 1e-9 * b.value) << size;
      EXPECT_NEAR(a.low, b.low, 1e-5 * b.value) << size;
      // Beyond 700 R, totals take the rate for larger than it is (missed_beside).
      if (size > 700 * kTestRate) {
        EXPECT_GT(a.high, b.high) << size;
        EXPECT_LT(a.high, b.high * static_cast<double>(size) / (700 * kTestRate)) << size;
      } else {
        EXPECT_NEAR(a.high, b.high, 1e-5 * b.high) << size;
      }
    }
  }
}

TEST(Estimate, a_sum_has_the_interval_of_a_sum) {
  // A hundred sites with one sample each: adding the ends would give +-300 %, the sum is known to 20 %.
  Accumulator sum;
  for (int i = 0; i < 100; ++i) {
    Accumulator site;
    site.add_live({64, kTestRate, 1});
    sum.add(site);
  }
  Accumulator at_once;
  at_once.add_live({64, kTestRate, 100});
  const Estimate estimate = sum.estimate(Metric::kInuseSpace);
  EXPECT_NEAR(estimate.value, 100 * kR, 0.001 * 100 * kR);
  EXPECT_NEAR(estimate.low, at_once.estimate(Metric::kInuseSpace).low, 0.001 * estimate.value);
  EXPECT_NEAR(estimate.high, at_once.estimate(Metric::kInuseSpace).high, 0.001 * estimate.value);
  EXPECT_LT(estimate.high, 1.25 * estimate.value);
}

TEST(Estimate, many_small_and_few_large_blocks_of_one_stack) {
  Stack stack;
  stack.has_statistics = true;
  stack.live = {{16, kTestRate, 977}, {32 << 20, kTestRate, 16}};  // about 32 million of 16 bytes
  EXPECT_NEAR(estimated_value(stack, Metric::kInuseObjects), 977 * kR / 16 + 16, 1000);
  EXPECT_NEAR(estimated_value(stack, Metric::kInuseSpace), 977 * kR + 16 * (32 << 20), 0.0001 * 1e9);
}

TEST(Estimate, what_is_not_listed_is_less_than_three_rates) {
  EXPECT_NEAR(unlisted_bound_bytes(kTestRate), 2.9957 * kR, 0.001 * kR);
  EXPECT_EQ(unlisted_bound_bytes(0), 0);
  EXPECT_EQ(unlisted_bound_bytes(1), 0);
  // A site that holds as much has no sample once in twenty times.
  EXPECT_NEAR(std::exp(-unlisted_bound_bytes(kTestRate) / kR), 0.05, 1e-9);
}

TEST(Estimate, totals_whose_sums_make_no_sense_do_no_harm) {
  for (const Totals& totals :
       {Totals{5, 100, 50, 1, 0, 0, 10, 10}, Totals{1, 0, 0, 1e300, 1e300, 1e300, 0, 1e300},
        Totals{2, UINT64_MAX, 1, 1, 0, 0, 1e-300, 1e-300}, Totals{0, 5, 5, 5, 5, 5, 5, 5}}) {
    Accumulator sum;
    sum.add_allocated(totals);
    for (const Metric metric : {Metric::kAllocObjects, Metric::kAllocSpace}) {
      const Estimate estimate = sum.estimate(metric);
      EXPECT_LE(estimate.low, estimate.value);
      EXPECT_GE(estimate.high, estimate.value);
    }
  }
}

struct Ends {
  double low = 0, high = 0;
};

// The interval for k sampled blocks of one size, as number of blocks or of bytes.
Ends ends_of(Metric metric, uint64_t size, uint64_t k) {
  Accumulator sum;
  if (metric_is_live(metric)) {
    sum.add_live({size, kTestRate, k});
  } else {
    Totals totals;
    const double p = sampling_probability(size, kTestRate);
    const auto n = static_cast<double>(k);
    const auto s = static_cast<double>(size);
    totals = {k,
              k * size,
              n * s / p,
              n / p,
              n * (1 - p) * s * s / p / p,
              n * (1 - p) / p / p,
              (1 - p) * s / p,
              (1 - p) / p};
    sum.add_allocated(totals);
  }
  const Estimate estimate = sum.estimate(metric);
  return {estimate.low, estimate.high};
}

// Probability that the interval holds the truth, given at least one sample, for `blocks` blocks; ends[k - 1]
// is the interval of k samples.
double exact_coverage(double blocks, double probability, double unit, const std::vector<Ends>& ends) {
  double covered = 0;
  const double none = std::exp(blocks * std::log1p(-probability));
  for (size_t k = 1; k <= ends.size() && static_cast<double>(k) <= blocks; ++k) {
    const auto n = static_cast<double>(k);
    const double log_mass = std::lgamma(blocks + 1) - std::lgamma(n + 1) - std::lgamma(blocks - n + 1) +
                            n * std::log(probability) +
                            (blocks > n ? (blocks - n) * std::log1p(-probability) : 0);
    const double truth = blocks * unit;
    if (ends[k - 1].low <= truth * (1 + 1e-9) && truth * (1 - 1e-9) <= ends[k - 1].high) {
      covered += std::exp(log_mass);
    }
  }
  return covered / (1 - none);
}

class Coverage : public testing::TestWithParam<uint64_t> {};

TEST_P(Coverage, of_one_size_is_95_percent) {
  const uint64_t size = GetParam();
  const double probability = sampling_probability(size, kTestRate);
  for (const Metric metric : kTruthMetrics) {
    const double unit = metric_is_bytes(metric) ? static_cast<double>(size) : 1;
    std::vector<Ends> ends;
    for (uint64_t k = 1; k <= 180; ++k) {
      ends.push_back(ends_of(metric, size, k));
    }
    if (probability == 1) {  // all blocks are sampled
      EXPECT_EQ(ends[4].low, 5 * unit);
      // Small ones may be there, too: docs/decisions/0105.
      const bool is_live = metric == Metric::kInuseObjects || metric == Metric::kInuseSpace;
      const double small = 3.34 * kR / (metric_is_bytes(metric) ? 1 : 16);
      EXPECT_GE(ends[4].high, 5 * unit + (is_live ? 0.99 * small : 0));
      EXPECT_LE(ends[4].high, 5 * unit + (is_live ? small : 0));
      continue;
    }
    double last = 0;
    for (double expected = 0.01; expected < 100; expected *= 1.02) {
      const double blocks = std::max(1.0, std::round(expected / probability));
      if (blocks == last) {
        continue;
      }
      last = blocks;
      const double coverage = exact_coverage(blocks, probability, unit, ends);
      EXPECT_GE(coverage, 0.94) << metric_name(metric) << " " << size << " B x " << blocks;
      // 16 and 20 blocks of R are held 98.4 and 98.2 % of the time: steps are so wide there that one step
      // less would leave more than 2.5 % on that side.
      if (size <= kTestRate && blocks * probability >= 10) {
        EXPECT_LE(coverage, size == kTestRate && (blocks == 16 || blocks == 20) ? 0.984 : 0.98)
            << metric_name(metric) << " " << size << " B x " << blocks;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TwelveSizes, Coverage, testing::ValuesIn(kSizes));

// malloc(0): a block that holds nothing.
TEST(Estimate, resident_blocks_of_no_bytes_count) {
  Stack stack;
  stack.has_statistics = true;
  stack.live = {{0, 2048, 3}};
  stack.values[metric_index(Metric::kResidentObjects)] = 6146;
  Accumulator sum;
  sum.add(stack);
  EXPECT_DOUBLE_EQ(sum.value(Metric::kResidentObjects), 6146);
  EXPECT_DOUBLE_EQ(sum.value(Metric::kResidentSpace), 0);
}

TEST(CoverageTest, sees_an_interval_that_is_too_narrow) {
  // The normal interval of three expected samples, which holds the truth in 84 % of all cases.
  const double probability = sampling_probability(64, kTestRate);
  std::vector<Ends> ends;
  for (double k = 1; k <= 50; ++k) {
    ends.push_back({k / probability - 1.96 * std::sqrt(k) / probability,
                    k / probability + 1.96 * std::sqrt(k) / probability});
  }
  EXPECT_LT(exact_coverage(std::round(3 / probability), probability, 1, ends), 0.90);
}

struct Kind {
  double size_in_rates;
  double blocks;
};

struct Mixture {
  const char* name;
  std::vector<Kind> kinds;
  bool counts_too;  // small blocks so rare that often none is seen cannot be counted by anybody
};

std::ostream& operator<<(std::ostream& out, const Mixture& mixture) {
  return out << mixture.name;
}

constexpr double kTiny = 64 / kR;

class MixtureCoverage : public testing::TestWithParam<Mixture> {};

TEST_P(MixtureCoverage, of_live_blocks_and_totals_is_95_percent) {
  constexpr int kRuns = 4000;
  std::mt19937_64 random(20240607);
  std::array<double, kMetricCount> truth{}, held{}, sum{};
  std::map<std::vector<uint64_t>, std::array<Estimate, kMetricCount>> known;
  int with_samples = 0;
  for (int run = 0; run < kRuns; ++run) {
    Stack stack;
    stack.has_statistics = true;
    std::vector<uint64_t> counts;
    truth = {};
    for (const Kind& kind : GetParam().kinds) {
      const auto size = static_cast<uint64_t>(std::llround(kind.size_in_rates * kR));
      const double probability = sampling_probability(size, kTestRate);
      std::binomial_distribution<int64_t> draw(std::llround(kind.blocks), probability);
      const auto samples = static_cast<uint64_t>(draw(random));
      counts.push_back(samples);
      truth[0] = truth[2] = truth[0] + std::round(kind.blocks);
      truth[1] = truth[3] = truth[1] + std::round(kind.blocks) * static_cast<double>(size);
      if (samples != 0) {
        stack.live.push_back({size, kTestRate, samples});
        add_samples(stack.allocated, size, samples);
      }
    }
    for (const Metric metric : kTruthMetrics) {
      sum[metric_index(metric)] += estimated_value(stack, metric);
    }
    if (stack.live.empty()) {
      continue;
    }
    ++with_samples;
    const auto [entry, is_new] = known.emplace(counts, std::array<Estimate, kMetricCount>());
    for (const Metric metric : kTruthMetrics) {
      Estimate& estimate = entry->second[metric_index(metric)];
      if (is_new) {
        Accumulator accumulator;
        accumulator.add(stack);
        estimate = accumulator.estimate(metric);
      }
      const double expected = truth[metric_index(metric)];
      held[metric_index(metric)] +=
          estimate.low <= expected * (1 + 1e-9) && expected * (1 - 1e-9) <= estimate.high ? 1 : 0;
    }
  }
  for (const Metric metric : kTruthMetrics) {
    const size_t i = metric_index(metric);
    if (metric_is_bytes(metric) || GetParam().counts_too) {
      EXPECT_GE(held[i] / with_samples, 0.94) << metric_name(metric);
    }
    if (metric_is_bytes(metric)) {
      EXPECT_NEAR(sum[i] / kRuns / truth[i], 1, 0.02) << metric_name(metric);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mixtures, MixtureCoverage,
    testing::Values(
        Mixture{"one of 20 R and many of 64 B", {{20, 1}, {kTiny, 5 / kTiny}}, true},
        Mixture{"ten of 2 R and many of 100 B", {{2, 10}, {100 / kR, 5 * kR / 100}}, true},
        Mixture{"two each of R/2 to 8 R", {{0.5, 2}, {1, 2}, {2, 2}, {4, 2}, {8, 2}}, true},
        Mixture{"ten each of R/2 to 4 R", {{0.5, 10}, {1, 10}, {2, 10}, {3, 10}, {4, 10}}, true},
        Mixture{"one each of 2 R to 6 R", {{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}, true},
        Mixture{"three of 3 R and a hundred of 16 R", {{3, 3}, {16, 100}}, true},
        Mixture{"thirty of 3 R and a hundred of 16 R", {{3, 30}, {16, 100}}, true},
        Mixture{"halves of R to 16 R", {{1, 16}, {2, 8}, {4, 4}, {8, 2}, {16, 1}}, true},
        Mixture{"ten of 3 R and many of 64 B", {{3, 10}, {kTiny, 3 / kTiny}}, false},
        Mixture{"equal bytes in each of 16 B to 32 KB",
                {{16 / kR, 2 * kR / 16}, {256 / kR, 2 * kR / 256}, {4096 / kR, 2 * kR / 4096}, {0.0625, 32}},
                false},
        Mixture{"a table that doubled from 64 B to 64 MB",
                {{kTiny, 3},
                 {8 * kTiny, 3},
                 {64 * kTiny, 3},
                 {0.0625, 3},
                 {0.125, 3},
                 {0.25, 3},
                 {0.5, 3},
                 {1, 3},
                 {2, 3},
                 {4, 3},
                 {8, 3},
                 {16, 3},
                 {32, 3},
                 {64, 3},
                 {128, 3}},
                false},
        Mixture{
            "thirty and thirty large, a few small", {{4, 30}, {2, 30}, {1, 3}, {kTiny, 1 / kTiny}}, false}));

}  // namespace
}  // namespace memprof::profile
