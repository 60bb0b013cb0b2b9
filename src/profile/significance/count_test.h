// SPDX-License-Identifier: Apache-2.0
// Whether two numbers of samples differ by more than sampling does.
//
// Source: the conditional test of two Poisson means, Przyborowski and Wilenski, Biometrika 31 (1940).
//
// Threads: no state.
#pragma once

namespace memprof::profile {

// Two-sided: the chance that two counts that are expected to be alike differ so much.  Estimates of a count need not be
// whole.
double count_test(double a, double b);

}  // namespace memprof::profile
