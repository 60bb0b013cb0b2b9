// SPDX-License-Identifier: Apache-2.0
// The distribution of what sampling missed: a sum of scaled negative binomials, and the ends of its 95 %
// interval.
//
// Model: behind n samples of blocks that weigh `step` each and are sampled with probability p hide
// step * NegativeBinomial(n, p) that were not sampled: mean n step q/p with q = 1 - p.  Where the steps are
// small beside the standard deviation of the sum, it is a shifted gamma with the same three cumulants; groups
// whose steps can be felt are convolved exactly.  docs/decisions/0007-intervals-of-what-was-missed.md has the
// derivation and the measured coverage.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <vector>

namespace memprof::profile {

class MissedMass {
 public:
  // `samples` need not be whole; 0 < probability <= 1.
  void add(double step, double probability, double samples);
  // A part of which only moments are known, taken as a gamma; `largest_mean` is the largest step q/p in it.
  void add_continuous(double mean, double variance, double largest_mean);
  void add(const MissedMass& other);

  double mean() const { return cumulants_.mean; }

  // The 2.5 % quantile (given that there was a sample at all), and the 97.5 % quantile with half a sample
  // more (mid-P).
  struct Interval {
    double low = 0;
    double high = 0;
  };
  Interval interval() const;

  struct Cumulants {
    double mean = 0, variance = 0, third = 0;

    Cumulants& operator+=(const Cumulants& other);
    Cumulants& operator-=(const Cumulants& other);
  };

  struct Group {
    double step;
    double probability;
    double samples;

    Cumulants cumulants() const;
  };

 private:
  void compact();

  Cumulants cumulants_;  // of all that was added
  // The sample with the largest mean q/p * step; step 0: a continuous one.
  double largest_mean_ = 0;
  double largest_step_ = 0;
  // -log of the probability that the certain part alone would have given no sample, and of each unit missed.
  double certain_hazard_ = 0;
  double missed_hazard_ = 0;   // times mean
  std::vector<Group> groups_;  // those whose steps can still be felt in the sum
  size_t compact_at_ = 16;
};

}  // namespace memprof::profile
