// SPDX-License-Identifier: Apache-2.0
// The distribution of a sum of independent parts: steps of a few lengths, as atoms, and a continuous rest.
//
// Model: samples of blocks that weigh `step` each, sampled with probability p, hide
// step * NegativeBinomial(samples, p).  Parts whose steps can be felt are convolved exactly; the rest is a
// gamma distribution, shifted so that it has the given mean, variance and third cumulant.
//
// Threads: plain values.
// Allocates: by malloc.
#pragma once

#include <cstddef>

#include "estimate/array.h"

namespace memprof {

struct MissedCumulants {
  double mean = 0, variance = 0, third = 0;

  MissedCumulants& operator+=(const MissedCumulants& other);
  MissedCumulants& operator-=(const MissedCumulants& other);
};

// Samples of one kind of block.
struct MissedGroup {
  double step;
  double probability;
  double samples;

  MissedCumulants cumulants() const;
};

class MissedDistribution {
 public:
  struct Atom {
    double at;
    double probability;
  };

  // Nothing: 0 is certain.
  MissedDistribution() = default;
  // `has_rest` is false where the rest is nothing but rounding.
  MissedDistribution(const MissedCumulants& rest, bool has_rest);

  // There was no memory for all of it.
  bool has_failed() const { return atoms_.has_failed(); }
  void note_failure() { atoms_.note_failure(); }

  void convolve(const MissedGroup& group);
  void add_rest(const MissedCumulants& more);
  // Fewer atoms, where the rest smears what lies closer than `width`.
  void coarsen(double width);

  double cdf(double x) const;
  // The whole as at most about `max` values with their probabilities, ascending: each is the mean of what it
  // stands for.  Upper tails below 1e-9 are in the last.
  Array<Atom> cells(size_t max) const;

 private:
  // A gamma with the cumulants of the rest; from `normal_shape_` on, a normal distribution of the cube root
  // stands in for it.
  double rest_cdf(double x) const;
  void fit_rest();
  Array<Atom> rest_cells(size_t max) const;

  Array<Atom> atoms_;  // none: one, 0 with certainty
  MissedCumulants rest_;
  bool has_rest_ = false;
  double normal_shape_ = 200;
  double deviation_ = 0;  // these of the rest
  double shape_ = 0;
  double scale_ = 0;
  double shift_ = 0;
};

}  // namespace memprof
