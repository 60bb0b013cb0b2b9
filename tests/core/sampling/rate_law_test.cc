// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/rate_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/sampling/sampler.h"
#include "tests/support/engine.h"

namespace memprof::rate_law_test {
namespace {

using testing_support::Random;

constexpr double kShare = 0.005;
constexpr Budget kBudget{5000};

// A program: what it allocates in a second of CPU time, and what a sample of it costs.
struct Program {
  double bytes_a_second;
  double sample_ns;
};

// Samples come at random, and one in eight is measured (of few, each), whose times differ by as much as they are.
class Session {
 public:
  explicit Session(uint64_t seed, const Budget& budget = kBudget)
      : rate(RateLaw(budget).first(kDefaultRateBytes)), law_(budget), random_(seed) {}

  void go(const Program& program, double seconds, double period_seconds) {
    for (double t = 0; t < seconds; t += period_seconds) {
      const double samples = normal(program.bytes_a_second * period_seconds / static_cast<double>(rate));
      const double one_in = samples <= 64 ? 1 : 8;
      const double measured = one_in == 1 ? samples : normal(samples / one_in);
      const double spent = one_in * program.sample_ns * (measured + std::sqrt(measured) * gauss());
      cost_ns += samples * program.sample_ns;
      cpu_ns += period_seconds * 1e9;
      rate = law_.next(rate, spent > 0 ? static_cast<uint64_t>(spent) : 0,
                       static_cast<uint64_t>(period_seconds * 1e9));
    }
  }
  double share() const { return cost_ns / cpu_ns; }

  uint64_t rate;
  double cost_ns = 0;
  double cpu_ns = 0;

 private:
  double gauss() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += random_.uniform();
    }
    return sum;
  }
  // As many as a Poisson process has, where there are enough of them.
  double normal(double mean) {
    const double n = std::round(mean + std::sqrt(mean) * gauss());
    return n > 0 ? n : 0;
  }

  RateLaw law_;
  Random random_;
};

TEST(RateLaw, TheGridHasTwoRatesADoubling) {
  EXPECT_EQ(0u, nearest_grid_rate(0));
  EXPECT_EQ(1u, nearest_grid_rate(1));
  EXPECT_EQ(2u, nearest_grid_rate(2));
  EXPECT_EQ(3u, nearest_grid_rate(3));
  EXPECT_EQ(4096u, nearest_grid_rate(4500));
  EXPECT_EQ(6144u, nearest_grid_rate(5100));
  EXPECT_EQ(6144u, nearest_grid_rate(7000));
  EXPECT_EQ(8192u, nearest_grid_rate(7200));
  EXPECT_EQ(524288u, nearest_grid_rate(500000));
  EXPECT_EQ(uint64_t{1} << 50, nearest_grid_rate(uint64_t{1} << 50));
}

TEST(RateLaw, AProgramBeginsWithinTheBounds) {
  const RateLaw law(kBudget);
  EXPECT_EQ(Budget::kDefaultMinRate, law.first(0));
  EXPECT_EQ(Budget::kDefaultMaxRate, law.first(uint64_t{1} << 40));
  EXPECT_EQ(393216u, law.first(400000));
  EXPECT_EQ(uint64_t{16} << 20, law.first(kDefaultRateBytes));
  EXPECT_EQ(uint64_t{1} << 20, RateLaw({80000}).first(kDefaultRateBytes));
  EXPECT_EQ(uint64_t{1} << 20, RateLaw({5000, 16384, 1 << 20}).first(kDefaultRateBytes));
}

// Many short programs, whose samples are all first ones: 30 us each.  Together they stay below the share.
TEST(RateLaw, ShortProgramsStayBelowTheShare) {
  for (const double seconds : {0.006, 0.02, 0.1, 0.4}) {
    double cost_ns = 0;
    double cpu_ns = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      Session run(seed);
      run.go({1e9, 30000}, seconds, seconds < 0.1 ? seconds : 0.1);
      cost_ns += run.cost_ns;
      cpu_ns += run.cpu_ns;
    }
    EXPECT_LT(cost_ns / cpu_ns, 0.006) << seconds;
    EXPECT_GT(cost_ns / cpu_ns, 0.0005) << seconds;
  }
}

// Programs of a factor of 4,000 between them, whose budget's rate is within the bounds.
TEST(RateLaw, TheShareIsKept) {
  uint64_t seed = 0;
  for (double bytes = 3e6; bytes < 2e10; bytes *= 2.7) {
    for (const double period : {0.01, 0.1, 0.8}) {
      Session run(++seed);
      run.go({bytes, 800}, 20, period);
      const double at_min = bytes / Budget::kDefaultMinRate * 800e-9;
      if (at_min < 0.4 * kShare) {
        continue;
      }
      EXPECT_GT(run.share(), at_min < kShare ? 0.8 * at_min : 0.003) << bytes << " " << period;
      EXPECT_LT(run.share(), 0.006) << bytes << " " << period << " rate " << run.rate;
    }
  }
  EXPECT_GT(seed, 20u);
}

TEST(RateLaw, TheBoundsHold) {
  Session quiet(1);
  quiet.go({1e4, 800}, 10, 0.1);
  EXPECT_EQ(Budget::kDefaultMinRate, quiet.rate);
  EXPECT_LT(quiet.share(), 0.001);
  Session storm(2);
  storm.go({1e13, 800}, 10, 0.1);
  EXPECT_EQ(Budget::kDefaultMaxRate, storm.rate);
  Budget narrow = kBudget;
  narrow.min_rate_bytes = narrow.max_rate_bytes = 100000;
  Session fixed(3, narrow);
  fixed.go({1e9, 800}, 2, 0.1);
  EXPECT_EQ(100000u, fixed.rate);
}

// An idle program sees its few allocations finely; a storm that comes then is paid back, and after it the rate is
// fine again.
TEST(RateLaw, AStormAfterQuietIsPaidBackAndForgotten) {
  Session run(4);
  run.go({1e5, 1500}, 3, 0.001);
  EXPECT_EQ(Budget::kDefaultMinRate, run.rate);
  const Program storm{2e9, 800};
  run.go(storm, 0.03, 0.01);
  EXPECT_GT(run.rate, 16 * Budget::kDefaultMinRate);
  run.cost_ns = run.cpu_ns = 0;
  run.go(storm, 10, 0.1);
  EXPECT_LT(run.share(), 0.0052);
  EXPECT_GT(run.share(), 0.003);
  run.go({1e5, 1500}, 2, 0.01);
  EXPECT_EQ(Budget::kDefaultMinRate, run.rate);
}

TEST(RateLaw, PeriodsWithoutTimeDoNoHarm) {
  RateLaw law(kBudget);
  uint64_t rate = 1 << 20;
  for (int i = 0; i < 100; ++i) {
    rate = law.next(rate, 0, 0);
    EXPECT_GE(rate, Budget::kDefaultMinRate);
    rate = law.next(rate, 1000, 0);
    EXPECT_LE(rate, Budget::kDefaultMaxRate);
    rate = law.next(rate, UINT64_MAX, 1);
    EXPECT_LE(rate, Budget::kDefaultMaxRate);
    rate = law.next(rate, 0, UINT64_MAX);
    EXPECT_GE(rate, Budget::kDefaultMinRate);
  }
}

}  // namespace
}  // namespace memprof::rate_law_test
