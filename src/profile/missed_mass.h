// SPDX-License-Identifier: Apache-2.0
// The distribution of what sampling missed: a sum of scaled negative binomials, and its quantiles.
//
// Model: behind n samples of blocks that weigh `step` each and are sampled with probability p hide
// step * NegativeBinomial(n, p) that were not sampled; mean n step q/p with q = 1 - p.  docs and references:
// docs/decisions/running-total-intervals.md.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <vector>

namespace memprof::profile {

class MissedMass {
 public:
  // `samples` need not be whole.
  void add(double step, double probability, double samples);
  // A part of which only moments are known, taken as continuous; `largest_mean` is the largest step q/p in
  // it.
  void add_continuous(double mean, double variance, double largest_mean);
  void add(const MissedMass& other);

  double mean() const { return mean_; }

  // Ends of the 95 % interval: the 2.5 % quantile, and the 97.5 % quantile with half a sample more (mid-P).
  struct Interval {
    double low = 0;
    double high = 0;
  };
  Interval interval() const;

 private:
  // Groups whose grid of values can still be felt in the distribution of the sum.
  struct Group {
    double step;
    double probability;
    double samples;
  };

  void compact();

  double mean_ = 0;  // cumulants of all that was added
  double variance_ = 0;
  double third_ = 0;
  double largest_mean_ = 0;  // of one sample: step q/p, and the step that belongs to it; 0: continuous
  double largest_step_ = 0;
  std::vector<Group> groups_;
  size_t compact_at_ = 0;
};

}  // namespace memprof::profile
