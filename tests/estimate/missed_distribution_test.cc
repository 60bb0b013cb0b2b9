// SPDX-License-Identifier: Apache-2.0
#include "estimate/missed_distribution.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/negative_binomial.hpp>
#include <cmath>

namespace memprof {
namespace {

struct Moments {
  double sum = 0, mean = 0, variance = 0;
};

Moments moments_of(const Array<MissedDistribution::Atom>& cells) {
  Moments m;
  for (const auto& cell : cells) {
    m.sum += cell.probability;
    m.mean += cell.probability * cell.at;
  }
  for (const auto& cell : cells) m.variance += cell.probability * (cell.at - m.mean) * (cell.at - m.mean);
  return m;
}

TEST(MissedDistribution, NothingIsZero) {
  const MissedDistribution nothing;
  EXPECT_EQ(nothing.cdf(0), 1);
  EXPECT_EQ(nothing.cdf(-1e-9), 0);
  ASSERT_EQ(nothing.cells(100).size(), 1u);
  EXPECT_EQ(nothing.cells(100)[0].at, 0);
}

TEST(MissedDistribution, StepsAreNegativeBinomial) {
  MissedDistribution d;
  d.convolve({3, 0.4, 5});
  const boost::math::negative_binomial_distribution<> exact(5, 0.4);
  for (int k = 0; k < 30; ++k) EXPECT_NEAR(d.cdf(3 * k + 1), cdf(exact, k), 1e-6) << k;
}

TEST(MissedDistribution, TheRestIsAGammaOfThreeCumulants) {
  // Seven exponentials of mean 2.
  MissedDistribution d;
  d.add_rest({14, 28, 112});
  const boost::math::gamma_distribution<> exact(7, 2);
  for (const double x : {3.0, 10.0, 20.0, 40.0}) EXPECT_NEAR(d.cdf(x), cdf(exact, x), 1e-9) << x;
}

TEST(MissedDistribution, CellsAreTheDistribution) {
  for (const bool has_steps : {false, true}) {
    for (const bool has_rest : {false, true}) {
      MissedDistribution d;
      double mean = 0;
      double variance = 0;
      if (has_steps) {
        d.convolve({3, 0.4, 5});
        const MissedCumulants c = MissedGroup{3, 0.4, 5}.cumulants();
        mean += c.mean;
        variance += c.variance;
      }
      if (has_rest) {
        d.add_rest({14, 28, 112});
        mean += 14;
        variance += 28;
      }
      const auto cells = d.cells(192);
      const Moments m = moments_of(cells);
      EXPECT_NEAR(m.sum, 1, 1e-6);
      EXPECT_NEAR(m.mean, mean, 0.003 * mean + 1e-12);
      EXPECT_NEAR(m.variance, variance, 0.01 * variance + 1e-12);
      EXPECT_LE(cells.size(), 192u);
      for (size_t i = 1; i < cells.size(); ++i) EXPECT_LT(cells[i - 1].at, cells[i].at);
    }
  }
}

TEST(MissedDistribution, CellsKeepTheTailsThatPValuesAreMadeOf) {
  MissedDistribution d;
  d.add_rest({30, 30, 60});
  const boost::math::gamma_distribution<> exact(30, 1);
  double below = 0;
  for (const auto& cell : d.cells(192)) {
    below += cell.probability;
    const double truth = cdf(exact, cell.at);
    // Half a cell off, at most.
    if (truth > 1e-7 && truth < 0.5) {
      EXPECT_NEAR(std::log(below), std::log(truth), 0.8) << cell.at;
    }
  }
}

}  // namespace
}  // namespace memprof
