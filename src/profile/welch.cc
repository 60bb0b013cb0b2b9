// SPDX-License-Identifier: Apache-2.0
#include "profile/welch.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace memprof::profile {
namespace {

constexpr double kAlpha = 0.05;

// Boost's defaults may throw and use long double; neither is wanted.
using Policy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

double mean(const Sample& sample) {
  return sample.sum / sample.count;
}

// Of one value.  What is rounding in the sums is no spread.
double variance(const Sample& sample) {
  constexpr double kRounding = 1e-12;
  const double sum = sample.squares - sample.sum * sample.sum / sample.count;
  return sum <= kRounding * sample.squares ? 0 : sum / (sample.count - 1);
}

double square(double x) {
  return x * x;
}

}  // namespace

WelchTest welch_test(const Sample& a, const Sample& b) {
  WelchTest test;
  double variance_a = a.count > 1 ? variance(a) : 0;
  double variance_b = b.count > 1 ? variance(b) : 0;
  // Degrees of freedom of each; a single value borrows the other's.
  const double free_a = a.count > 1 ? a.count - 1 : b.count - 1;
  const double free_b = b.count > 1 ? b.count - 1 : a.count - 1;
  if (a.count <= 1) variance_a = variance_b;
  if (b.count <= 1) variance_b = variance_a;
  const bool is_borrowed = a.count <= 1 || b.count <= 1;
  const double of_a = variance_a / a.count;
  const double of_b = variance_b / b.count;
  const double difference = mean(b) - mean(a);
  if (!(of_a + of_b > 0)) {
    test.p_value = difference == 0 ? 1 : 0;
    return test;
  }
  // One variance that stands for both is as free as itself.
  const double free =
      is_borrowed ? free_a : square(of_a + of_b) / (square(of_a) / free_a + square(of_b) / free_b);
  const double t_squared = square(difference) / (of_a + of_b);
  test.p_value = boost::math::ibeta(free / 2, 0.5, free / (free + t_squared), Policy());
  const double share = boost::math::ibeta_inv(free / 2, 0.5, kAlpha, Policy());
  test.half_width = std::sqrt(free * (1 - share) / share * (of_a + of_b));
  return test;
}

}  // namespace memprof::profile
