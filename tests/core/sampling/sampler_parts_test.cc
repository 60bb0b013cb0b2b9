// SPDX-License-Identifier: Apache-2.0
// Clocks that run out in parts, while the rate follows what happens: estimates stay unbiased.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/support/engine.h"

namespace memprof::sampler_parts_test {
namespace {

using testing_support::Random;
using testing_support::scaled;
using testing_support::seed_sampler;

// Of each estimate below: odds of 1e-7 that a right sampler is farther off.
constexpr double kMaxSigmas = 5.33;
constexpr uint64_t kPartBytes = 4096;
constexpr uint64_t kMinRate = 512;
constexpr uint64_t kMaxRate = 64 * 1024;

struct Event {
  bool sampled;
  uint64_t rate_bytes;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual bool tick(uint64_t size_bytes) = 0;
  virtual Event event(uint64_t size_bytes) = 0;
  virtual void set_rate(uint64_t rate_bytes) = 0;
};

class RealClock : public Clock {
 public:
  explicit RealClock(uint64_t seed) {
    sampler_watch(kPartBytes);
    sampler_set_rate(kMinRate);
    seed_sampler(seed);
  }
  ~RealClock() override {
    sampler_watch(0);
    sampler_set_rate(kDefaultRateBytes);
    t_sampler = {};
  }
  bool tick(uint64_t size_bytes) override { return sampler_tick(size_bytes); }
  Event event(uint64_t size_bytes) override {
    const SamplingEvent event = sampler_event(size_bytes);
    EXPECT_LE(event.next_count, kPartBytes);
    sampler_resume(event);
    return {event.sampled, event.rate_bytes};
  }
  void set_rate(uint64_t rate_bytes) override { sampler_set_rate(rate_bytes); }
};

// The same in a few lines, with the mistakes that can be made.
enum class Mistake { kNone, kPartEndsTheBlock, kRestAtAnotherRate };
class ModelClock : public Clock {
 public:
  ModelClock(uint64_t seed, Mistake mistake) : random_(seed), mistake_(mistake) { draw(); }
  bool tick(uint64_t size_bytes) override {
    const bool ran_out = count_ < static_cast<int64_t>(size_bytes);
    count_ -= static_cast<int64_t>(size_bytes);
    return ran_out;
  }
  Event event(uint64_t) override {
    const uint64_t rate = rate_;
    const bool is_part = rest_ != 0;
    if (is_part && mistake_ == Mistake::kPartEndsTheBlock) {
      draw();
      return {false, rate};
    }
    if (is_part && count_ + rest_ >= 0) {
      if (mistake_ == Mistake::kRestAtAnotherRate) {
        rate_ = next_rate_;  // and the distance is that of the old one
        split(count_ + rest_);
      } else if (rate_ == next_rate_) {
        split(count_ + rest_);
      } else {
        draw();
      }
      return {false, rate};
    }
    draw();
    return {true, rate};
  }
  void set_rate(uint64_t rate_bytes) override { next_rate_ = rate_bytes; }

 private:
  void draw() {
    rate_ = next_rate_;
    split(static_cast<int64_t>(exponential_distance(rate_, random_.next())));
  }
  void split(int64_t distance) {
    constexpr auto kPart = static_cast<int64_t>(kPartBytes);
    count_ = distance < kPart ? distance : kPart;
    rest_ = distance - count_;
  }

  Random random_;
  Mistake mistake_;
  int64_t count_ = 0;
  int64_t rest_ = 0;
  uint64_t rate_ = kMinRate;
  uint64_t next_rate_ = kMinRate;
};

struct Sums {
  double estimate = 0;
  double truth = 0;
  double variance = 0;
  uint64_t rates = 0;  // how often it changed
  double sigmas() const { return (estimate - truth) / std::sqrt(variance); }
};

// The rate follows what was seen, as a budget's does: up with each sample, down where there was none for long.
Sums allocate(Clock* clock, uint64_t seed, uint64_t allocations) {
  constexpr uint64_t kSizes[] = {16, 40, 40, 200, 1000, 5000, 30000, 24};
  Random random(seed + 1000);
  Sums sums;
  uint64_t rate = kMinRate;
  uint64_t quiet = 0;
  for (uint64_t i = 0; i < allocations; ++i) {
    const uint64_t size = kSizes[random.next() % 8];
    sums.truth += static_cast<double>(size);
    uint64_t wanted = rate;
    if (clock->tick(size)) {
      const Event event = clock->event(size);
      if (event.sampled) {
        const Weight w = weigh(size, event.rate_bytes);
        sums.estimate += w.bytes;
        sums.variance += (1 - w.probability) * w.bytes * w.bytes;
        wanted = rate < kMaxRate ? rate * 2 : rate;
        quiet = 0;
      }
    } else if (++quiet % 8 == 0) {
      wanted = rate > kMinRate ? rate / 2 : rate;
    }
    if (wanted != rate) {
      rate = wanted;
      ++sums.rates;
      clock->set_rate(rate);
    }
  }
  return sums;
}

constexpr uint64_t kAllocations = 3000000;

TEST(SamplerParts, EstimatesAreUnbiasedWhileTheRateFollowsWhatIsSeen) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    RealClock clock(seed);
    const Sums sums = allocate(&clock, seed, scaled(kAllocations));
    EXPECT_GT(sums.rates, scaled(kAllocations) / 100);
    EXPECT_LT(std::fabs(sums.sigmas()), kMaxSigmas) << sums.estimate / sums.truth;
    EXPECT_NEAR(1.0, sums.estimate / sums.truth, 0.02 * std::sqrt(kAllocations / scaled(kAllocations)));
  }
}

TEST(SamplerParts, TheTestSeesWhatWouldBeWrong) {
  const auto sigmas = [](Mistake mistake) {
    ModelClock clock(7, mistake);
    return std::fabs(allocate(&clock, 7, kAllocations).sigmas());
  };
  EXPECT_LT(sigmas(Mistake::kNone), kMaxSigmas);
  EXPECT_GT(sigmas(Mistake::kPartEndsTheBlock), 2 * kMaxSigmas);
  EXPECT_GT(sigmas(Mistake::kRestAtAnotherRate), 2 * kMaxSigmas);
}

// At one rate parts change nothing: the same blocks are sampled.
TEST(SamplerParts, AtOneRateTheSameBlocksAreSampled) {
  std::vector<uint64_t> sampled[2];
  for (const bool in_parts : {false, true}) {
    sampler_watch(in_parts ? kPartBytes : 0);
    sampler_set_rate(kMaxRate);
    seed_sampler(3);
    Random random(5);
    uint64_t events = 0;
    for (uint64_t i = 0; i < 300000; ++i) {
      const uint64_t size = 1 + random.below(300);
      if (sampler_tick(size)) {
        const SamplingEvent event = sampler_event(size);
        sampler_resume(event);
        ++events;
        if (event.sampled) {
          sampled[in_parts].push_back(i);
        }
      }
    }
    EXPECT_EQ(in_parts, events > 4 * sampled[in_parts].size());
  }
  sampler_watch(0);
  sampler_set_rate(kDefaultRateBytes);
  t_sampler = {};
  EXPECT_EQ(sampled[0], sampled[1]);
  EXPECT_GT(sampled[0].size(), 500u);
}

// A thread takes up a finer rate after a part, not after its old distance.
TEST(SamplerParts, AThreadSoonTakesUpAFinerRate) {
  sampler_watch(kPartBytes);
  sampler_set_rate(uint64_t{1} << 40);
  seed_sampler(1);
  sampler_set_rate(kMinRate);
  uint64_t bytes = 0;
  uint64_t rate = 0;
  while (rate != kMinRate && bytes < 1 << 20) {
    bytes += 64;
    if (sampler_tick(64)) {
      const SamplingEvent event = sampler_event(64);
      sampler_resume(event);
      rate = t_sampler.rate_bytes;
    }
  }
  EXPECT_LE(bytes, kPartBytes + 64);
  sampler_watch(0);
  sampler_set_rate(kDefaultRateBytes);
  t_sampler = {};
}

// A mute, a nested event and a redraw in between keep what is left.
TEST(SamplerParts, WhatIsLeftSurvivesMutesAndNestedEvents) {
  sampler_watch(kPartBytes);
  sampler_set_rate(uint64_t{1} << 30);
  seed_sampler(2);
  const uint64_t rest = t_sampler.rest;
  EXPECT_GT(rest, 0u);
  {
    const MuteScope mute;
    EXPECT_FALSE(sampler_tick(1 << 20));
  }
  sampler_mute();
  sampler_tick(1 << 20);
  sampler_unmute();
  EXPECT_EQ(kPartBytes, t_sampler.count);
  EXPECT_EQ(rest, t_sampler.rest);
  const SamplingEvent none = sampler_no_event();
  sampler_tick(1 << 20);
  sampler_resume(none);
  EXPECT_EQ(rest, t_sampler.rest);
  EXPECT_TRUE(sampler_tick(kPartBytes + 100));
  const SamplingEvent event = sampler_event(kPartBytes + 100);
  EXPECT_FALSE(event.sampled);
  if (sampler_tick(1 << 25)) {
    sampler_resume(sampler_event(1 << 25));  // the allocator's own
  }
  sampler_resume(event);
  EXPECT_EQ(rest - 100, t_sampler.count + t_sampler.rest);
  sampler_watch(0);
  sampler_set_rate(kDefaultRateBytes);
  t_sampler = {};
}

}  // namespace
}  // namespace memprof::sampler_parts_test
