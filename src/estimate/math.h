// SPDX-License-Identifier: Apache-2.0
// The functions of a real variable that sampling and estimates need, so that nothing in the profiled process
// needs libm. The first two are right to about 2 units in the last place, the others to 1e-12 of the value
// (tests/estimate/math_test.cc).
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

// Each tail outside of a two-sided interval of 95 %.
inline constexpr double kTail95 = 0.025;

// Natural logarithm of a positive, finite, normal number.
double natural_log(double x);

// 1 - e^(-x) for x >= 0, without cancellation near 0.
double one_minus_exp(double x);

double exponential(double x);
// e^x - 1, without cancellation near 0.
double exp_minus_one(double x);
// ln (1 + x) for x > -1, without cancellation near 0.
double log_one_plus(double x);
// (1-p)/p of a sampling probability p = 1 - e^(-points), the blocks that one sample stands for beside itself: 1/(e^points - 1). Not 0 for any
// number of points, so that sums of samples keep the rate that they were drawn with; beyond 700 points it is that of 700,
// from which a rate follows that is too large.
double missed_beside(double points);
// base^exponent for base > 0.
double power(double base, double exponent);
double cube_root(double x);  // of x > 0
double square_root(double x);
// The standard normal distribution function.
double normal_cdf(double z);
// ln of the gamma function of x > 0.
double log_gamma(double x);
// The gamma distribution function of this shape > 0, of scale 1: the regularised lower incomplete gamma
// function.
double gamma_cdf(double shape, double x);

}  // namespace memprof
