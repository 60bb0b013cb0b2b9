// SPDX-License-Identifier: Apache-2.0
#include "estimate/math.h"

#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

#include "tests/support/engine.h"

namespace memprof::math_test {
namespace {

using testing_support::Random;
using testing_support::scaled;

// Distance of `got` from the true value, in units of the last place of the true value.
double ulps(double got, long double expected) {
  const double rounded = static_cast<double>(expected);
  const double unit = std::nextafter(std::fabs(rounded), HUGE_VAL) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / unit);
}

TEST(Math, LogarithmIsRightToTwoUlpsOverAllNormalNumbers) {
  Random random(1);
  double worst = 0;
  for (uint64_t i = 0; i < scaled(2000000); ++i) {
    // Any exponent of a normal number, any mantissa.
    const int exponent = static_cast<int>(random.below(2046)) - 1022;
    const double x = std::ldexp(1.0 + random.uniform(), exponent);
    if (x == 1.0 || !std::isnormal(x)) {
      continue;
    }
    const double error = ulps(natural_log(x), std::log(static_cast<long double>(x)));
    worst = std::max(worst, error);
    ASSERT_LE(error, 2.0) << std::hexfloat << x;
  }
  EXPECT_GT(worst, 0.0);  // the comparison does compare
}

TEST(Math, LogarithmKeepsItsDigitsNearOne) {
  Random random(2);
  for (uint64_t i = 0; i < scaled(400000); ++i) {
    const double distance = std::ldexp(1.0 + random.uniform(), -2 - static_cast<int>(random.below(50)));
    for (const double x : {1.0 + distance, 1.0 - distance}) {
      if (x != 1.0) {
        ASSERT_LE(ulps(natural_log(x), std::log(static_cast<long double>(x))), 2.0) << std::hexfloat << x;
      }
    }
  }
}

TEST(Math, LogarithmOfTheEdges) {
  EXPECT_EQ(0.0, natural_log(1.0));
  EXPECT_LE(ulps(natural_log(0x1p-65), std::log(0x1p-65L)), 1.0);
  const double min = std::numeric_limits<double>::min();
  EXPECT_LE(ulps(natural_log(min), std::log(static_cast<long double>(min))), 1.0);
  const double max = std::numeric_limits<double>::max();
  EXPECT_LE(ulps(natural_log(max), std::log(static_cast<long double>(max))), 1.0);
  for (const double x : {std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0), std::sqrt(2.0),
                         std::nextafter(std::sqrt(2.0), 2.0)}) {
    EXPECT_LE(ulps(natural_log(x), std::log(static_cast<long double>(x))), 2.0) << std::hexfloat << x;
  }
}

TEST(Math, OneMinusExpIsRightToTwoUlps) {
  Random random(3);
  for (uint64_t i = 0; i < scaled(2000000); ++i) {
    // From 2^-70 (a byte at the largest rate and beyond) to 64.
    const double x = std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(76)) - 70);
    ASSERT_LE(ulps(one_minus_exp(x), -std::expm1(-static_cast<long double>(x))), 2.0) << std::hexfloat << x;
  }
}

TEST(Math, OneMinusExpOfTheEdges) {
  EXPECT_EQ(0.0, one_minus_exp(0.0));
  EXPECT_EQ(1.0, one_minus_exp(40.0));
  EXPECT_EQ(1.0, one_minus_exp(1e300));
  EXPECT_EQ(1.0, one_minus_exp(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(0x1p-60, one_minus_exp(0x1p-60));  // no cancellation: 1 - exp(-x) in doubles would be 0
  for (int k = 1; k < 56; ++k) {               // where one reduction of the argument follows another
    const double edge = (k - 0.5) * std::log(2.0);
    for (const double x : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 100.0)}) {
      EXPECT_LE(ulps(one_minus_exp(x), -std::expm1(-static_cast<long double>(x))), 2.0) << x;
    }
  }
}

TEST(Math, OneMinusExpDoesNotFallAndStaysAProbability) {
  double before = 0;
  for (uint64_t i = 0; i <= 400000; ++i) {
    const double p = one_minus_exp(static_cast<double>(i) * 1e-4);
    ASSERT_GE(p, before - 1e-16) << i;
    ASSERT_LE(p, 1.0) << i;
    before = p;
  }
  EXPECT_EQ(1.0, before);
}

double relative_error(double got, long double expected) {
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / std::fabs(expected));
}

TEST(Math, ExponentialsAndLogarithmsAreThoseOfLibm) {
  Random random(7);
  for (uint64_t i = 0; i < scaled(200000); ++i) {
    const double x = 1400 * random.uniform() - 700;
    ASSERT_LE(relative_error(exponential(x), std::exp(static_cast<long double>(x))), 1e-14) << x;
    const double small = std::ldexp(random.uniform() - 0.5, -static_cast<int>(random.below(60)));
    if (small != 0) {
      ASSERT_LE(relative_error(exp_minus_one(small), std::expm1(static_cast<long double>(small))), 1e-14)
          << small;
      ASSERT_LE(relative_error(log_one_plus(small), std::log1p(static_cast<long double>(small))), 1e-14)
          << small;
    }
    const double base = random.uniform() + 1e-3;
    const double exponent = 50 * random.uniform();
    ASSERT_LE(relative_error(power(base, exponent),
                             std::pow(static_cast<long double>(base), static_cast<long double>(exponent))),
              1e-12);
    ASSERT_LE(relative_error(cube_root(base), std::cbrt(static_cast<long double>(base))), 1e-14);
    ASSERT_EQ(square_root(base), std::sqrt(base));
  }
  EXPECT_EQ(0, exponential(-1000));
  EXPECT_EQ(HUGE_VAL, exponential(1000));
  EXPECT_EQ(-1, exp_minus_one(-HUGE_VAL));
  EXPECT_EQ(0, exp_minus_one(0));
  EXPECT_EQ(0, log_one_plus(0));
}

TEST(Math, WhatASampleStandsForBesideItselfIsNeverNothing) {
  for (double points = 1e-9; points < 700; points *= 1.01) {
    ASSERT_LE(relative_error(missed_beside(points), 1 / std::expm1(static_cast<long double>(points))), 1e-13)
        << points;
  }
  for (const double points : {700.0, 710.0, 1e6, HUGE_VAL}) {
    EXPECT_EQ(missed_beside(700), missed_beside(points));
    EXPECT_NEAR(700, log_one_plus(1 / missed_beside(points)), 1e-9);
  }
}

TEST(Math, TheNormalDistributionIsRightInBothTails) {
  for (double z = -37; z <= 9; z += 0.01) {
    const long double expected = std::erfc(-static_cast<long double>(z) / std::sqrt(2.0L)) / 2;
    ASSERT_LE(relative_error(normal_cdf(z), expected), 1e-12) << z;
  }
}

TEST(Math, TheGammaDistributionIsBoosts) {
  for (const double shape : {1e-6, 0.01, 0.5, 1.0, 3.7, 20.0, 77.7, 200.0}) {
    ASSERT_NEAR(log_gamma(shape), std::lgamma(shape), 1e-13 * (1 + std::fabs(std::lgamma(shape)))) << shape;
    for (double part = 0.01; part < 4; part += 0.01) {
      const double x = shape * part;
      ASSERT_NEAR(gamma_cdf(shape, x), boost::math::gamma_p(shape, x), 1e-12) << shape << " " << x;
    }
  }
  EXPECT_EQ(0, gamma_cdf(3, 0));
  EXPECT_EQ(0, gamma_cdf(3, -1));
  EXPECT_EQ(1, gamma_cdf(3, 1e6));
}

}  // namespace
}  // namespace memprof::math_test
