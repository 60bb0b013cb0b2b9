// SPDX-License-Identifier: Apache-2.0
// Is the sampler unbiased?  Statistics over seeded runs of the real clock, and over samplers that are biased
// on purpose, which the same statistics must reject.
//
// Odds.  Every statistic is accepted within 6 standard deviations of a normal variable (2e-9), or above a
// chi-square probability of 1e-9; there are about 150 of them, so with other seeds a false alarm would come
// in one of 3 million runs (3e-7).  The seeds are fixed (but for FirstDraw: there the kernel seeds, as it
// does for threads), so it does not come by luck of the day.
//
// Power.  Unbiasedness uses 2 million expected samples a case: the standard error is 0.07 %, so a bias of
// 0.6 % is seen with odds of 99 %.  FirstDraw sees 0.9 % (p = 0.5); the chi-square of distances sees a
// change of the mean by 1.2 % anywhere, and a clamp at up to 9 R.
//
// With sanitizers the loops are 20 times shorter and the deviations that are accepted larger.
//
// Speed.  Blocks that a clock passes over without running out are subtracted at once (skip): sampler_tick is
// that subtraction (sampler_test.cc proves it), and the block that decides goes through tick and event.
#include <gtest/gtest.h>

#include <cmath>

#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/core/sampling/clocks.h"
#include "tests/support/engine.h"

namespace memprof::sampler_statistics_test {
namespace {

using testing_support::kSanitized;
using testing_support::Random;
using testing_support::scaled;

// Runs of 10,000 expected samples each: is their mean the truth, and do they scatter as they should?
Verdict unbiased_at(Clock& clock, uint64_t size, uint64_t rate) {
  constexpr int kRuns = kSanitized ? 10 : 200;
  constexpr double kSamples = 10000;
  clock.set_rate(rate);
  Estimate sum;
  double scatter = 0;
  for (int run = 0; run < kRuns; ++run) {
    clock.seed(size * 1000003 + rate * 7919 + static_cast<uint64_t>(run));
    Estimate e;
    allocate(clock, size, static_cast<uint64_t>(std::ceil(kSamples / weigh(size, rate).probability)), &e);
    sum.bytes += e.bytes;
    sum.blocks += e.blocks;
    sum.true_bytes += e.true_bytes;
    sum.true_blocks += e.true_blocks;
    sum.variance_bytes += e.variance_bytes;
    sum.variance_blocks += e.variance_blocks;
    scatter += e.sigmas_blocks() * e.sigmas_blocks() / kRuns;
  }
  Verdict v;
  v.text = std::to_string(size) + " B at " + std::to_string(rate) + "\n";
  if (size != 0) {
    v.require(std::fabs(sum.bytes / sum.true_bytes - 1) <= kMaxDeviation, "bytes, estimate / truth",
              sum.bytes / sum.true_bytes);
    v.require(std::fabs(sum.sigmas_bytes()) <= kMaxSigmas, "bytes, sigmas", sum.sigmas_bytes());
  }
  v.require(std::fabs(sum.blocks / sum.true_blocks - 1) <= kMaxDeviation, "blocks, estimate / truth",
            sum.blocks / sum.true_blocks);
  v.require(std::fabs(sum.sigmas_blocks()) <= kMaxSigmas, "blocks, sigmas", sum.sigmas_blocks());
  if (sum.variance_blocks > 1e-6 * sum.true_blocks) {  // else there is no chance in it
    // The mean of 200 squared normals: 1, with a deviation of 0.1.  Where hits are rare or misses are, the
    // squares have a heavier tail; the limit is wide.
    v.require(kSanitized || (scatter > 0.45 && scatter < 2), "scatter over expected", scatter);
  }
  return v;
}

// Up to the first case that is not.
Verdict unbiased_everywhere(Clock& clock) {
  Verdict all;
  const auto add = [&all, &clock](uint64_t size, uint64_t rate) {
    if (all.accepted) {
      all = unbiased_at(clock, size, rate);
    }
  };
  for (const uint64_t size : kSizes) {
    add(size, kDefaultRateBytes);
  }
  for (const uint64_t rate : {2u, 64u}) {
    for (const uint64_t size : {0u, 1u, 3u, 8u, 64u, 100u, 1000u}) {
      add(size, rate);
    }
  }
  return all;
}

TEST(SamplerStatistics, BytesAndBlocksAreUnbiasedForAllSizes) {
  RealClock clock;
  const Verdict v = unbiased_everywhere(clock);
  EXPECT_TRUE(v.accepted) << v.text;
}

TEST(SamplerStatistics, TheModelOfTheBiasedSamplersIsUnbiasedWithoutTheirBias) {
  if (kSanitized) {
    GTEST_SKIP() << "nothing of the engine is in it, and it takes long";
  }
  ModelClock clock;
  const Verdict v = unbiased_everywhere(clock);
  EXPECT_TRUE(v.accepted) << v.text;
}

TEST(SamplerStatistics, BiasedSamplersAreRejected) {
  if (kSanitized) {
    GTEST_SKIP() << "nothing of the engine is in it, and it takes long";
  }
  ClampedDraws clamped;
  EXPECT_FALSE(unbiased_everywhere(clamped).accepted);
  LeastDraw min;
  EXPECT_FALSE(unbiased_everywhere(min).accepted);
  RoundedUp rounded_up;
  EXPECT_FALSE(unbiased_everywhere(rounded_up).accepted);
  WeightIsRate weight_is_rate;
  EXPECT_FALSE(unbiased_everywhere(weight_is_rate).accepted);
  RoundedCounts rounded_counts;
  EXPECT_FALSE(unbiased_everywhere(rounded_counts).accepted);
  PeriodicClock periodic;
  EXPECT_FALSE(unbiased_everywhere(periodic).accepted);
}

// Decision 1 with its figures: what a weight of R makes of large blocks.
TEST(SamplerStatistics, AWeightOfRIsWrongAsTheDecisionSays) {
  WeightIsRate clock;
  const struct {
    uint64_t size;
    double ratio;
  } rows[] = {{64, 1.00}, {512 * kKiB, 0.63}, {4 * kMiB, 0.125}, {100 * kMiB, 0.005}};
  for (const auto& row : rows) {
    clock.set_rate(kDefaultRateBytes);
    clock.seed(row.size);
    Estimate e;
    allocate(clock, row.size, static_cast<uint64_t>(1e6 / weigh(row.size, kDefaultRateBytes).probability),
             &e);
    EXPECT_NEAR(row.ratio, e.bytes / e.true_bytes, 0.005) << row.size;
  }
}

// ---- Mixtures: real ticks, one by one

TEST(SamplerStatistics, MixturesAreUnbiased) {
  RealClock clock;
  constexpr uint64_t kRate = 512;
  clock.set_rate(kRate);
  const uint64_t mixtures[3][6] = {
      {16, 16, 64, 200, 1000, 5000}, {0, 1, 24, 48, 100000, 512}, {32, 32, 32, 32, 32, 1000000}};
  for (int m = 0; m < 3; ++m) {
    clock.seed(static_cast<uint64_t>(m));
    Random random(77);
    Estimate e;
    uint64_t of_size[6] = {};
    for (uint64_t i = 0; i < scaled(20000000); ++i) {
      const uint64_t which = (random.next() >> 32) * 6 >> 32;
      const uint64_t size = mixtures[m][which];
      ++of_size[which];
      if (sampler_tick(size)) {
        const SamplingEvent event = sampler_event(size);
        sampler_resume(event);
        if (event.sampled) {
          e.sampled(weigh(size, event.rate_bytes));
        }
      }
    }
    for (int i = 0; i < 6; ++i) {
      e.allocated(mixtures[m][i], of_size[i], kRate);
    }
    EXPECT_NEAR(1.0, e.bytes / e.true_bytes, kMaxDeviation) << m;
    EXPECT_LE(std::fabs(e.sigmas_bytes()), kMaxSigmas) << m;
    EXPECT_NEAR(1.0, e.blocks / e.true_blocks, 2 * kMaxDeviation) << m;
    EXPECT_LE(std::fabs(e.sigmas_blocks()), kMaxSigmas) << m;
  }
}

// One stack that allocates 32 million blocks of 16 B and sixteen of 32 MiB: each sample must be unbiased by
// its own size.  Unbiasing the sum by the mean size is far off.
TEST(SamplerStatistics, Lesson15UnbiasEachSampleThenSum) {
  RealClock clock;
  clock.set_rate(kDefaultRateBytes);
  double right = 0;
  double naive = 0;
  double truth = 0;
  for (uint64_t run = 0; run < 1000; ++run) {
    clock.seed(run);
    Estimate e;
    double samples = 0;
    double sizes = 0;
    const auto note = [&](uint64_t size, const Estimate& before) {
      const double n = std::round((e.blocks - before.blocks) / weigh(size, kDefaultRateBytes).count);
      samples += n;
      sizes += n * static_cast<double>(size);
    };
    Estimate before = e;
    allocate(clock, 16, 32000000, &e);
    note(16, before);
    before = e;
    allocate(clock, 32 * kMiB, 16, &e);
    note(32 * kMiB, before);
    right += e.bytes;
    truth += e.true_bytes;
    naive += sizes / -std::expm1(-sizes / samples / static_cast<double>(kDefaultRateBytes));
  }
  EXPECT_NEAR(1.0, right / truth, 0.005);  // the standard error is 0.05 %
  EXPECT_GT(std::fabs(naive / truth - 1), 0.1) << naive / truth;
}

}  // namespace
}  // namespace memprof::sampler_statistics_test
