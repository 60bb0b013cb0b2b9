// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/math.h"

#include <gtest/gtest.h>

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
  const double least = std::numeric_limits<double>::min();
  EXPECT_LE(ulps(natural_log(least), std::log(static_cast<long double>(least))), 1.0);
  const double most = std::numeric_limits<double>::max();
  EXPECT_LE(ulps(natural_log(most), std::log(static_cast<long double>(most))), 1.0);
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

}  // namespace
}  // namespace memprof::math_test
