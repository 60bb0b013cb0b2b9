// SPDX-License-Identifier: Apache-2.0
// The two functions of a real variable that sampling needs, so that nothing in the profiled process needs
// libm. Both are right to about 2 units in the last place (tests/core/sampling/math_test.cc).
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

// Natural logarithm of a positive, finite, normal number.
double natural_log(double x);

// 1 - e^(-x) for x >= 0, without cancellation near 0.
double one_minus_exp(double x);

}  // namespace memprof
