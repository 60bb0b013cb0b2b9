// SPDX-License-Identifier: Apache-2.0
#include "estimate/missed_mass.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/negative_binomial.hpp>
#include <cmath>

namespace memprof {
namespace {

MissedMass::Interval interval_of(double step, double probability, double samples) {
  MissedMass mass;
  mass.add(step, probability, samples);
  return mass.interval();
}

TEST(MissedMass, nothing_is_missed_behind_what_is_always_sampled) {
  const MissedMass::Interval interval = interval_of(1000, 1, 50);
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 0);
  EXPECT_EQ(MissedMass().interval().high, 0);
}

TEST(MissedMass, small_blocks_give_the_gamma_distribution) {
  // 100 samples at a mean of 1 behind each; so many that "a sample at all" is certain.
  const MissedMass::Interval interval = interval_of(1e-6, 1e-6 / (1 + 1e-6), 100);
  EXPECT_NEAR(interval.low, quantile(boost::math::gamma_distribution<>(100, 1), 0.025), 0.005);
  // 0.7 of a sample more lies between none and one.
  EXPECT_GT(interval.high, quantile(boost::math::gamma_distribution<>(100, 1), 0.975));
  EXPECT_LT(interval.high, quantile(boost::math::gamma_distribution<>(101, 1), 0.975));
}

TEST(MissedMass, large_blocks_give_the_exact_lattice) {
  for (const double p : {0.5, 0.632, 0.95}) {
    for (const double n : {5, 10, 40}) {
      const MissedMass::Interval interval = interval_of(3, p, n);
      const boost::math::negative_binomial_distribution<> exact(n, p);
      // Low: the first k with cdf(k) >= 2.5 %.
      double k = 0;
      while (cdf(exact, k) < 0.025) {
        ++k;
      }
      EXPECT_NEAR(interval.low, 3 * k, 1e-5) << p << " " << n;
      const boost::math::negative_binomial_distribution<> more(n + 1, p);
      k = 0;
      while (0.3 * cdf(exact, k) + 0.7 * cdf(more, k) < 0.975) {
        ++k;
      }
      EXPECT_NEAR(interval.high, 3 * k, 1e-5) << p << " " << n;
    }
  }
}

TEST(MissedMass, one_sample_says_almost_nothing_about_the_lower_end) {
  // That there was one sample at all is what put the site on the list.
  const double p = 1e-4;
  EXPECT_EQ(interval_of(1, p, 1).low, 0);
  EXPECT_GT(interval_of(1, p, 3).low, 0);
}

TEST(MissedMass, a_sum_is_the_same_in_parts) {
  MissedMass whole, left, right;
  for (int i = 1; i < 60; ++i) {
    const double step = 0.1 * i;
    const double p = 1 - std::exp(-step);
    whole.add(step, p, 2);
    (i % 2 ? left : right).add(step, p, 2);
  }
  left.add(right);
  EXPECT_NEAR(left.mean(), whole.mean(), 1e-9 * whole.mean());
  EXPECT_NEAR(left.interval().low, whole.interval().low, 0.02 * whole.mean());
  EXPECT_NEAR(left.interval().high, whole.interval().high, 0.02 * whole.mean());
}

TEST(MissedMass, of_many_groups_has_the_width_of_a_normal_distribution) {
  MissedMass sum;
  double variance = 0;
  for (int i = 0; i < 20000; ++i) {
    const double step = 1e-3 * (1 + i % 997);
    const double p = 1 - std::exp(-step);
    sum.add(step, p, 1);
    variance += (1 - p) * step * step / (p * p);
  }
  const MissedMass::Interval interval = sum.interval();
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * std::sqrt(variance), 0.02 * std::sqrt(variance));
  EXPECT_NEAR((interval.high + interval.low) / 2, sum.mean(), 0.05 * std::sqrt(variance));
}

TEST(MissedMass, of_moments_alone_is_a_gamma) {
  MissedMass mass;
  mass.add_continuous(50, 50, 1);
  EXPECT_NEAR(mass.interval().low, quantile(boost::math::gamma_distribution<>(50, 1), 0.025), 0.01);
  EXPECT_GT(mass.interval().high, quantile(boost::math::gamma_distribution<>(50, 1), 0.975));
}

}  // namespace
}  // namespace memprof
