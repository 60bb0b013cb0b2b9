// SPDX-License-Identifier: Apache-2.0
// Tests whether the means of two samples differ by more than the spread of their values allows.
//
// Model: where it is known how far the values scatter by sampling alone, what they scatter more is one factor
// for both sides (as in quasi-likelihood), which few values tell better than two variances; values that
// scatter no more than sampling does say nothing beyond it.  Else Welch's test, where variances may differ;
// one value alone takes the other side's.
//
// Threads: no state.
#pragma once

#include <cstddef>

namespace memprof::profile {

struct Sample {
  double count = 0;
  double sum = 0;
  double squares = 0;            // sum of the squares
  double sampling_variance = 0;  // of one value, by sampling alone; 0: not known
};

struct SpreadTest {
  double p_value = 1;     // two-sided; 0: the spread says nothing against a difference
  double half_width = 0;  // of the 95 % interval of the difference of the means
};

// Whether samples of these sizes have a variance.
inline bool has_spread(size_t a, size_t b) {
  return a > 1 || b > 1;
}

// of has_spread() only.
SpreadTest spread_test(const Sample& a, const Sample& b);

}  // namespace memprof::profile
