// SPDX-License-Identifier: Apache-2.0
// The clock of samples, and clocks that are biased on purpose: what a test must tell apart.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/support/engine.h"

namespace memprof::sampler_statistics_test {

using testing_support::kSanitized;
using testing_support::Random;
using testing_support::seed_sampler;

inline constexpr double kMaxSigmas = 6;
constexpr double kMinProbability = 1e-9;
// Of an estimate from its truth.  With a sanitizer there are 20 times fewer samples.
constexpr double kMaxDeviation = kSanitized ? 0.05 : 0.005;
constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kSizes[12] = {1,         16,         64,         256,  kKiB,      4 * kKiB,
                                 32 * kKiB, 256 * kKiB, 512 * kKiB, kMiB, 16 * kMiB, 1024 * kMiB};

// ---- Samplers

// A clock as the statistics drive it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual void seed(uint64_t seed) = 0;
  virtual void be_new_thread() = 0;
  virtual void set_rate(uint64_t rate) = 0;  // for draws to come
  virtual void redraw() = 0;                 // what start and set_rate do on their own thread
  virtual uint64_t& count() = 0;
  virtual uint64_t rate() = 0;  // that the count was drawn with
  // The block that runs the count out.
  virtual bool event(uint64_t size, uint64_t* rate) = 0;
  virtual Weight weight(uint64_t size, uint64_t rate) { return weigh(size, rate); }
};

class RealClock : public Clock {
 public:
  ~RealClock() override {
    sampler_set_rate(kDefaultRateBytes);
    t_sampler = {};
  }
  void seed(uint64_t seed) override { seed_sampler(seed); }
  void be_new_thread() override { t_sampler = {}; }
  void set_rate(uint64_t rate) override { sampler_set_rate(rate); }
  void redraw() override { sampler_redraw(); }
  uint64_t& count() override { return t_sampler.count; }
  uint64_t rate() override { return t_sampler.rate_bytes; }
  bool event(uint64_t size, uint64_t* rate) override {
    EXPECT_TRUE(sampler_tick(size));
    const SamplingEvent e = sampler_event(size);
    sampler_resume(e);
    *rate = e.rate_bytes;
    return e.sampled;
  }
};

// The same model in a few lines; the biased samplers change one thing of it.
class ModelClock : public Clock {
 public:
  void seed(uint64_t seed) override {
    random_ = Random(seed);
    redraw();
  }
  void be_new_thread() override { redraw(); }
  void set_rate(uint64_t rate) override { next_rate_ = rate; }
  void redraw() override {
    rate_ = next_rate_;
    count_ = draw(rate_, random_.next());
  }
  uint64_t& count() override { return count_; }
  uint64_t rate() override { return rate_; }
  bool event(uint64_t size, uint64_t* rate) override {
    EXPECT_LT(count_, size + (size == 0));
    *rate = rate_;
    ModelClock::redraw();
    return true;
  }

 protected:
  virtual uint64_t draw(uint64_t rate, uint64_t random) { return exponential_distance(rate, random); }
  uint64_t count_ = 0;

 private:
  Random random_{0};
  uint64_t rate_ = 0;
  uint64_t next_rate_ = kDefaultRateBytes;
};

class ClampedDraws : public ModelClock {  // "no more than 4 R", to be safe from overflow
  uint64_t draw(uint64_t rate, uint64_t random) override {
    return std::min(exponential_distance(rate, random), 4 * rate);
  }
};

class LeastDraw : public ModelClock {  // "at least R / 4", to be safe from bursts
  uint64_t draw(uint64_t rate, uint64_t random) override {
    return std::max(exponential_distance(rate, random), rate / 4);
  }
};

class RoundedUp : public ModelClock {  // "at least one byte"
  uint64_t draw(uint64_t rate, uint64_t random) override { return exponential_distance(rate, random) + 1; }
};

class WeightIsRate : public ModelClock {  // decision 1: what the specification said
  Weight weight(uint64_t size, uint64_t rate) override {
    const double r = static_cast<double>(rate);
    return {0, r / static_cast<double>(size), r, 0.0};
  }
};

class RoundedCounts : public ModelClock {  // lesson 24
  Weight weight(uint64_t size, uint64_t rate) override {
    Weight w = weigh(size, rate);
    w.count = std::round(w.count);
    return w;
  }
};

class PeriodicClock : public ModelClock {  // every R bytes, the same for all
  uint64_t draw(uint64_t rate, uint64_t) override { return rate - 1; }
};

class SkipsFirstDraw : public ModelClock {  // lesson 20: "the first event seeds the thread" and is no sample
 public:
  void be_new_thread() override { count_ = 0, is_new_ = true; }
  bool event(uint64_t size, uint64_t* rate) override {
    const bool sampled = !is_new_;
    is_new_ = false;
    ModelClock::event(size, rate);
    return sampled;
  }

 private:
  bool is_new_ = false;
};

class SamplesFirstAllocation : public SkipsFirstDraw {  // a zero count taken for a clock that ran out
 public:
  bool event(uint64_t size, uint64_t* rate) override {
    SkipsFirstDraw::event(size, rate);
    return true;
  }
};

class RedrawsOnLook : public ModelClock {  // a change of the rate throws near sampling points away
 public:
  void redraw() override {
    if (count() < rate() / 8) {
      ModelClock::redraw();
    }
  }
  void seed(uint64_t seed) override {
    ModelClock::seed(seed);
    ModelClock::redraw();
  }
};

class WeightOfNewRate : public ModelClock {  // lesson 21: weighs by the rate in force, not by the clock's
 public:
  void set_rate(uint64_t rate) override {
    ModelClock::set_rate(rate);
    now_ = rate;
  }
  Weight weight(uint64_t size, uint64_t) override { return weigh(size, now_); }

 private:
  uint64_t now_ = kDefaultRateBytes;
};

// ---- Estimates

struct Estimate {
  double bytes = 0, blocks = 0;            // estimated
  double true_bytes = 0, true_blocks = 0;  // allocated
  double variance_bytes = 0, variance_blocks = 0;

  void allocated(uint64_t size, uint64_t n, uint64_t rate) {
    const double p = weigh(size, rate).probability;
    const double s = static_cast<double>(size);
    const double count = static_cast<double>(n);
    true_bytes += count * s;
    true_blocks += count;
    variance_bytes += count * s * s * (1 - p) / p;
    variance_blocks += count * (1 - p) / p;
  }
  void sampled(const Weight& w) {
    bytes += w.bytes;
    blocks += w.count;
  }
  static double sigmas(double estimate, double truth, double variance) {
    // Below 1e-12 of the truth it is arithmetic, not chance.
    return (estimate - truth) / (std::sqrt(variance) + 1e-12 * truth + 1e-300);
  }
  double sigmas_bytes() const { return sigmas(bytes, true_bytes, variance_bytes); }
  double sigmas_blocks() const { return sigmas(blocks, true_blocks, variance_blocks); }
};

// A verdict and its reasons.
struct Verdict {
  bool accepted = true;
  std::string text;

  void require(bool condition, const std::string& what, double value) {
    accepted = accepted && condition;
    text += (condition ? "  " : "! ") + what + " " + std::to_string(value) + "\n";
  }
};

// `n` blocks of one size; what of it is to be counted goes to *e (nullptr: nothing, the profiler is off).
inline void allocate(Clock& clock, uint64_t size, uint64_t n, Estimate* e) {
  const uint64_t line = size == 0 ? 1 : size;
  Estimate ignored;
  Estimate& sum = e != nullptr ? *e : ignored;
  uint64_t rate = clock.rate();
  Weight weight = clock.weight(size, rate);
  uint64_t at_this_rate = 0;
  while (n > 0) {
    const uint64_t skip = std::min(n, clock.count() / line);
    clock.count() -= skip * line;
    n -= skip;
    at_this_rate += skip;
    if (n == 0) {
      break;
    }
    --n;
    ++at_this_rate;
    uint64_t event_rate = 0;
    if (clock.event(size, &event_rate)) {
      sum.sampled(event_rate == rate ? weight : clock.weight(size, event_rate));
    }
    if (clock.rate() != rate) {
      sum.allocated(size, at_this_rate, rate);
      at_this_rate = 0;
      rate = clock.rate();
      weight = clock.weight(size, rate);
    }
  }
  sum.allocated(size, at_this_rate, rate);
}

}  // namespace memprof::sampler_statistics_test
