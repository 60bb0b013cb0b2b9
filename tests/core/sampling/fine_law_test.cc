// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/fine_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/support/engine.h"

namespace memprof::fine_law_test {
namespace {

using testing_support::Random;
using testing_support::scaled;
using testing_support::seed_sampler;

constexpr double kMiB = 1024 * 1024;
constexpr uint64_t kCheapNs = 1500;
constexpr uint64_t kDearNs = 5000;

// A program of small blocks, all of whose samples cost as much: for each of its bytes the rate that it is seen at.
class Program {
 public:
  explicit Program(uint64_t sample_ns) : sample_ns_(sample_ns) {}

  // The sum of `bytes` more: how many samples it has, and their variance in squared bytes.
  struct Row {
    double samples = 0;
    double variance = 0;
  };
  Row allocate(double bytes) {
    Row row;
    for (double done = 0; done < bytes;) {
      const double step = std::min(bytes - done, static_cast<double>(rate_ * FineLaw::kSamplesOfALook));
      row.samples += step / static_cast<double>(rate_);
      row.variance += step * static_cast<double>(rate_);
      done += step;
      bytes_ += step;
      if (rate_ != FineLaw::kLastRateBytes ||
          FineLaw::rate_after(static_cast<uint64_t>(bytes_)) < FineLaw::kLastRateBytes) {
        rate_ = law_.next(rate_, static_cast<uint64_t>(bytes_), FineLaw::kSamplesOfALook,
                          FineLaw::kSamplesOfALook * sample_ns_);
      }
    }
    return row;
  }
  uint64_t rate() const { return rate_; }

 private:
  uint64_t sample_ns_;
  FineLaw law_;
  uint64_t rate_ = FineLaw::kFirstRateBytes;
  double bytes_ = 0;
};

TEST(FineLaw, TheRateGrowsWithTheBytes) {
  EXPECT_EQ(FineLaw::kFirstRateBytes, FineLaw::rate_after(0));
  EXPECT_EQ(FineLaw::kFirstRateBytes, FineLaw::rate_after(FineLaw::kFirstBytes));
  double before = 0;
  for (double mib = 1; mib < 1000; mib *= 1.1) {
    const double rate = FineLaw::rate_after(static_cast<uint64_t>(mib * kMiB));
    EXPECT_GE(rate, before);
    before = rate;
  }
  EXPECT_NEAR(32 * kMiB / FineLaw::kSamples, FineLaw::rate_after(32 << 20), 1);
  EXPECT_LT(FineLaw::rate_after(340 << 20), FineLaw::kLastRateBytes);
  EXPECT_GT(FineLaw::rate_after(360 << 20), FineLaw::kLastRateBytes);
}

// What is promised of a script: 12 % of its row of 10 MiB, and 10 % of 30 and 100 MiB, at the peak, which half of the
// samples tell.  An interpreter's start comes first.
TEST(FineLaw, TheFirstRowOfASmallProgramIsKnownWithinATenth) {
  const auto half_width = [](double mib) {
    Program program(kDearNs);
    program.allocate(0.5 * kMiB);
    Program script(kCheapNs);
    script.allocate(4 * kMiB);
    const Program::Row row = script.allocate(mib * kMiB);
    return 1.96 * std::sqrt(2 * row.variance) / (mib * kMiB);
  };
  EXPECT_LT(half_width(10), 0.12);
  EXPECT_LT(half_width(30), 0.10);
  EXPECT_LT(half_width(100), 0.10);
}

// All samples before the last rate, of a program that goes on for ever.
TEST(FineLaw, ThereAreFewSamplesBeforeTheLastRate) {
  Program program(kCheapNs);
  const Program::Row all = program.allocate(400 * kMiB);
  EXPECT_EQ(FineLaw::kLastRateBytes, program.rate());
  EXPECT_LT(all.samples * FineLaw::kCostNs, FineLaw::kMaxCostNs);
  Program goes_on(kCheapNs);
  goes_on.allocate(4000 * kMiB);
  EXPECT_EQ(FineLaw::kLastRateBytes, goes_on.rate());
}

TEST(FineLaw, DearSamplesAreTakenMoreRarely) {
  Program cheap(kCheapNs);
  Program dear(kDearNs);
  const double few = dear.allocate(20 * kMiB).samples;
  const double many = cheap.allocate(20 * kMiB).samples;
  EXPECT_LT(few * 3, many);
  EXPECT_GT(few * 8, many);
  Program very_dear(100 * kDearNs);
  EXPECT_GT(very_dear.allocate(20 * kMiB).samples * 16, many) << "but never so rarely that nothing is seen";
}

// What was dear at first does not make rare what is cheap later.
TEST(FineLaw, CheapSamplesAreSoonTakenAsOftenAsEver) {
  FineLaw law;
  uint64_t rate = FineLaw::kFirstRateBytes;
  for (int i = 0; i < 10; ++i) {
    rate = law.next(rate, 5 << 20, FineLaw::kSamplesOfALook, FineLaw::kSamplesOfALook * 4 * kDearNs);
  }
  EXPECT_EQ(8 * FineLaw::kFirstRateBytes, rate);
  for (int i = 0; i < 5; ++i) {
    rate = law.next(rate, 5 << 20, FineLaw::kSamplesOfALook, FineLaw::kSamplesOfALook * kCheapNs);
  }
  EXPECT_EQ(FineLaw::kFirstRateBytes, rate);
}

// The sum of a program some of whose samples are dear, some cheap.  `by_one_rate`: a mistake, all samples are weighed by one
// rate, and not each by that which its clock was drawn with.
double sigmas(uint64_t seed, uint64_t allocations, bool by_one_rate) {
  constexpr uint64_t kSizes[] = {16, 40, 40, 200, 1000, 5000, 60000, 24};
  sampler_set_rate(FineLaw::kFirstRateBytes);
  seed_sampler(seed);
  Random random(seed + 1000);
  FineLaw law;
  double truth = 0;
  double estimate = 0;
  double variance = 0;
  double seen = 0;
  for (uint64_t i = 0; i < allocations; ++i) {
    const uint64_t size = kSizes[random.next() % 8];
    truth += static_cast<double>(size);
    if (!sampler_tick(size)) continue;
    const SamplingEvent event = sampler_event(size);
    sampler_resume(event);
    if (!event.sampled) continue;
    const Weight w = weigh(size, event.rate_bytes);
    estimate += by_one_rate ? weigh(size, 4 * FineLaw::kFirstRateBytes).bytes : w.bytes;
    variance += (1 - w.probability) * w.bytes * w.bytes;
    seen += w.bytes;
    // As of a program that is small over and over, and looked at with each sample: the rate goes up and down.
    const auto bytes = static_cast<uint64_t>(seen) % (400 << 20);
    sampler_set_rate(law.next(sampler_rate(), bytes, 1, random.next() % 2 == 0 ? 12000 : 700));
  }
  sampler_set_rate(kDefaultRateBytes);
  t_sampler = {};
  return std::fabs(estimate - truth) / std::sqrt(variance);
}

// Of each: odds of 1e-7 that a right sampler is farther off.
constexpr double kMaxSigmas = 5.33;

TEST(FineLaw, EstimatesAreUnbiasedWhileTheRateFollowsWhatIsSeen) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    EXPECT_LT(sigmas(seed, scaled(3000000), false), kMaxSigmas) << seed;
  }
}

TEST(FineLaw, TheTestSeesWhatWouldBeWrong) {
  EXPECT_GT(sigmas(7, 3000000, true), kMaxSigmas);
}

}  // namespace
}  // namespace memprof::fine_law_test
