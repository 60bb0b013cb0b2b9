// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/sampling/clocks.h"
#include "tests/support/engine.h"

namespace memprof::sampler_statistics_test {
namespace {

using testing_support::kSanitized;
using testing_support::Random;
using testing_support::scaled;

// ---- First draws

// Threads of one allocation each.
Verdict first_draws(Clock& clock, uint64_t threads) {
  Verdict v;
  constexpr uint64_t kRate = 10000;
  for (const double p : {0.1, 0.5, 0.9}) {
    const uint64_t size = static_cast<uint64_t>(-std::log1p(-p) * kRate);
    Estimate e;
    clock.set_rate(kRate);
    for (uint64_t i = 0; i < threads; ++i) {
      clock.be_new_thread();
      uint64_t rate = kRate;
      e.allocated(size, 1, kRate);
      if (clock.count() < size && clock.event(size, &rate)) {
        e.sampled(clock.weight(size, rate));
      }
    }
    v.require(std::fabs(e.sigmas_blocks()) <= kMaxSigmas, "first draws, sigmas", e.sigmas_blocks());
    v.require(std::fabs(e.sigmas_bytes()) <= kMaxSigmas, "first draws of bytes, sigmas", e.sigmas_bytes());
  }
  return v;
}

TEST(SamplerStatistics, Lesson20ThreadsOfOneAllocationAreUnbiased) {
  RealClock clock;
  const Verdict v = first_draws(clock, 1000000);
  EXPECT_TRUE(v.accepted) << v.text;
}

TEST(SamplerStatistics, Lesson20BiasedFirstDrawsAreRejectedAfterTenThousandThreads) {
  SkipsFirstDraw skips;
  skips.seed(1);
  EXPECT_FALSE(first_draws(skips, 10000).accepted);
  SamplesFirstAllocation samples;
  samples.seed(1);
  EXPECT_FALSE(first_draws(samples, 10000).accepted);
  PeriodicClock periodic;
  periodic.seed(1);
  EXPECT_FALSE(first_draws(periodic, 10000).accepted);
  ModelClock unbiased;
  unbiased.seed(1);
  EXPECT_TRUE(first_draws(unbiased, 10000).accepted);
}

// ---- Changes while running

enum class Change { kByAnotherThread, kByThisThread };

// The rate changes every 10 blocks or so: as often as there are sampling points.
Verdict with_changing_rate(Clock& clock, Change change) {
  const uint64_t rates[] = {64, 512, 4096, 1, 1024};
  const uint64_t sizes[] = {100, 24, 1000};
  Random random(5);
  clock.set_rate(512);
  clock.seed(5);
  Estimate e;
  for (uint64_t stretch = 0; stretch < scaled(1500000); ++stretch) {
    clock.set_rate(rates[random.below(5)]);
    if (change == Change::kByThisThread) {
      clock.redraw();
    }
    allocate(clock, sizes[random.below(3)], 1 + random.below(19), &e);
  }
  Verdict v;
  v.require(std::fabs(e.bytes / e.true_bytes - 1) <= kMaxDeviation, "bytes, estimate / truth",
            e.bytes / e.true_bytes);
  v.require(std::fabs(e.sigmas_bytes()) <= kMaxSigmas, "bytes, sigmas", e.sigmas_bytes());
  v.require(std::fabs(e.sigmas_blocks()) <= kMaxSigmas, "blocks, sigmas", e.sigmas_blocks());
  return v;
}

TEST(SamplerStatistics, Lesson21ChangesOfTheRateAreUnbiased) {
  for (const Change change : {Change::kByAnotherThread, Change::kByThisThread}) {
    RealClock clock;
    const Verdict v = with_changing_rate(clock, change);
    EXPECT_TRUE(v.accepted) << v.text;
  }
}

TEST(SamplerStatistics, Lesson21BiasedChangesAreRejected) {
  if (kSanitized) {
    GTEST_SKIP() << "nothing of the engine is in it, and it takes long";
  }
  RedrawsOnLook redraws;
  EXPECT_FALSE(with_changing_rate(redraws, Change::kByThisThread).accepted);
  WeightOfNewRate weighs;
  EXPECT_FALSE(with_changing_rate(weighs, Change::kByAnotherThread).accepted);
  ModelClock unbiased;
  EXPECT_TRUE(with_changing_rate(unbiased, Change::kByThisThread).accepted);
  EXPECT_TRUE(with_changing_rate(unbiased, Change::kByAnotherThread).accepted);
}

TEST(SamplerStatistics, Lesson21AllocateWhileOffThenTurnOn) {
  RealClock clock;
  clock.set_rate(512);
  clock.seed(6);
  Random random(6);
  Estimate e;
  for (uint64_t stretch = 0; stretch < scaled(120000); ++stretch) {
    const bool on = stretch % 2 == 1;
    if (on && random.below(2) == 0) {
      clock.redraw();  // the thread that calls start
    }
    allocate(clock, on ? 48 : 300, 200 + random.below(500), on ? &e : nullptr);
  }
  EXPECT_NEAR(1.0, e.bytes / e.true_bytes, kMaxDeviation);
  EXPECT_LE(std::fabs(e.sigmas_bytes()), kMaxSigmas);
}

}  // namespace
}  // namespace memprof::sampler_statistics_test
