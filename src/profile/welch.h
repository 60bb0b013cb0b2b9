// SPDX-License-Identifier: Apache-2.0
// Welch's test of the means of two samples whose variances may differ.
//
// Model: where one sample is a single value, its variance is taken to be the other's.
//
// Threads: no state.
#pragma once

#include <cstddef>

namespace memprof::profile {

struct Sample {
  double count = 0;
  double sum = 0;
  double squares = 0;  // sum of the squares
};

struct WelchTest {
  double p_value = 1;     // two-sided
  double half_width = 0;  // of the 95 % interval of the difference of the means
};

// Whether samples of these sizes have a variance.
inline bool has_spread(size_t a, size_t b) {
  return a > 1 || b > 1;
}

// of has_spread() only.
WelchTest welch_test(const Sample& a, const Sample& b);

}  // namespace memprof::profile
