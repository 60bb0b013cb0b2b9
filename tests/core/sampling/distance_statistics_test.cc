// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "core/sampling/sampler.h"
#include "tests/core/sampling/clocks.h"
#include "tests/support/engine.h"

namespace memprof::sampler_statistics_test {
namespace {

using testing_support::kSanitized;
using testing_support::Random;

// ---- Distances

struct Bins {
  std::vector<uint64_t> edges;  // bin i is [edges[i], edges[i + 1]), the last one is open
  std::vector<double> probabilities;
};

// 100 bins of equal probability where rounding lets them be, and finer ones at both ends; each with 20
// expected draws or more.
Bins make_bins(uint64_t rate, double draws) {
  const double r = static_cast<double>(rate);
  std::set<uint64_t> edges{0};
  for (int i = 1; i < 100; ++i) {
    edges.insert(static_cast<uint64_t>(std::ceil(-r * std::log1p(-i / 100.0))));
  }
  for (const double fine : {0.0003, 0.001, 0.002, 0.005, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0}) {
    edges.insert(static_cast<uint64_t>(std::ceil(r * fine)));
  }
  const auto above = [r](uint64_t edge) { return std::exp(-static_cast<double>(edge) / r); };
  Bins bins;
  double before = 1;  // probability of being at or above the last edge that was kept
  bins.edges.push_back(0);
  for (const uint64_t edge : edges) {
    if (edge != 0 && (before - above(edge)) * draws >= 20 && above(edge) * draws >= 20) {
      bins.edges.push_back(edge);
      bins.probabilities.push_back(before - above(edge));
      before = above(edge);
    }
  }
  bins.probabilities.push_back(before);
  return bins;
}

double chi_square_probability(double statistic, double freedom) {
  return boost::math::gamma_q(freedom / 2, statistic / 2);
}

Verdict is_exponential(uint64_t rate, uint64_t seed,
                       const std::function<uint64_t(uint64_t rate, uint64_t random)>& draw) {
  constexpr uint64_t kDraws = 2000000;
  const Bins bins = make_bins(rate, kDraws);
  std::vector<uint64_t> seen(bins.edges.size());
  Random random(seed);
  double sum = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t x = draw(rate, random.next());
    sum += static_cast<double>(x);
    const auto bin = std::upper_bound(bins.edges.begin(), bins.edges.end(), x) - bins.edges.begin() - 1;
    ++seen[static_cast<size_t>(bin)];
  }
  double statistic = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double expected = bins.probabilities[i] * kDraws;
    statistic +=
        (static_cast<double>(seen[i]) - expected) * (static_cast<double>(seen[i]) - expected) / expected;
  }
  // floor(X) is geometric: mean 1 / (e^(1/R) - 1), variance e^(1/R) times its square.
  const double mean = 1 / std::expm1(1 / static_cast<double>(rate));
  const double deviation = mean * std::exp(0.5 / static_cast<double>(rate)) / std::sqrt(kDraws);
  Verdict v;
  v.text = "rate " + std::to_string(rate) + ", " + std::to_string(seen.size()) + " bins\n";
  const double probability = chi_square_probability(statistic, static_cast<double>(seen.size() - 1));
  v.require(probability >= kMinProbability, "chi-square", statistic);
  v.require(std::fabs(sum / kDraws - mean) <= kMaxSigmas * deviation, "mean, sigmas",
            (sum / kDraws - mean) / deviation);
  return v;
}

const uint64_t kRates[] = {2, 10, 512, 65536, 524288, uint64_t{1} << 32, kMaxRateBytes};

TEST(SamplerStatistics, DistancesAreExponential) {
  for (const uint64_t rate : kRates) {
    const Verdict v = is_exponential(rate, rate + 1, exponential_distance);
    EXPECT_TRUE(v.accepted) << v.text;
  }
}

TEST(SamplerStatistics, OtherDistancesAreRejected) {
  if (kSanitized) {
    GTEST_SKIP() << "nothing of the engine is in it, and it takes long";
  }
  const auto rejected = [](uint64_t rate, const std::function<uint64_t(uint64_t, uint64_t)>& draw) {
    const Verdict v = is_exponential(rate, 3, draw);
    EXPECT_FALSE(v.accepted) << v.text;
  };
  // Clamped above, as other profilers do; at 9 R it is one draw in 8,000.
  for (const uint64_t max : {4u, 8u, 9u}) {
    rejected(524288, [max](uint64_t r, uint64_t u) { return std::min(exponential_distance(r, u), max * r); });
  }
  // Clamped below.
  rejected(65536, [](uint64_t r, uint64_t u) { return std::max(exponential_distance(r, u), r / 1000); });
  // Rounded to the nearest, and up.
  rejected(10, [](uint64_t r, uint64_t u) {
    return static_cast<uint64_t>(
        -std::log((static_cast<double>(u) + 0.5) * 0x1p-64) * static_cast<double>(r) + 0.5);
  });
  rejected(10, [](uint64_t r, uint64_t u) { return exponential_distance(r, u) + 1; });
  // A mean that is 1.2 % off.
  rejected(524288, [](uint64_t r, uint64_t u) { return exponential_distance(r * 253 / 250, u); });
  // A generator of 12 bits: hardly a draw above 8.3 R, none between its steps.
  rejected(524288, [](uint64_t r, uint64_t u) { return exponential_distance(r, u >> 52 << 52); });
  // Uniform, with the right mean.
  rejected(524288, [](uint64_t r, uint64_t u) { return u % (2 * r); });
}

// Do draws depend on the one before?  Pairs of neighbours, and of neighbours but one, on a grid of 16 x 16.
Verdict are_independent(uint64_t lag, const std::function<uint64_t()>& draw, uint64_t rate) {
  constexpr uint64_t kDraws = 1000000;
  constexpr int kCells = 16;
  std::vector<int> cells;
  for (uint64_t i = 0; i < kDraws + lag; ++i) {
    const double u = -std::expm1(-(static_cast<double>(draw()) + 0.5) / static_cast<double>(rate));
    cells.push_back(std::min(kCells - 1, static_cast<int>(u * kCells)));
  }
  std::vector<uint64_t> seen(kCells * kCells);
  for (uint64_t i = 0; i < kDraws; ++i) {
    ++seen[static_cast<size_t>(cells[i] * kCells + cells[i + lag])];
  }
  double statistic = 0;
  const double expected = double{kDraws} / (kCells * kCells);
  for (const uint64_t n : seen) {
    statistic += (static_cast<double>(n) - expected) * (static_cast<double>(n) - expected) / expected;
  }
  Verdict v;
  v.require(chi_square_probability(statistic, kCells * kCells - 1) >= kMinProbability, "pairs, chi-square",
            statistic);
  return v;
}

TEST(SamplerStatistics, DrawsAreIndependentOfEachOther) {
  RealClock clock;
  clock.set_rate(kDefaultRateBytes);
  for (const uint64_t lag : {1u, 2u, 5u}) {
    clock.seed(lag);
    const Verdict v = are_independent(
        lag,
        [] {
          sampler_redraw();
          return t_sampler.count;
        },
        kDefaultRateBytes);
    EXPECT_TRUE(v.accepted) << v.text;
  }
  // A generator that forgets to step on every fourth draw.
  Random random(1);
  uint64_t last = 0;
  int step = 0;
  EXPECT_FALSE(are_independent(
                   1,
                   [&] {
                     return last = step++ % 4 == 3 ? last
                                                   : exponential_distance(kDefaultRateBytes, random.next());
                   },
                   kDefaultRateBytes)
                   .accepted);
}

}  // namespace
}  // namespace memprof::sampler_statistics_test
