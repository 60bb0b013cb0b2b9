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
// Allocates: by malloc.  Failure: an interval that is not known (array.h).
#pragma once

#include "estimate/array.h"
#include "estimate/missed_distribution.h"

namespace memprof {

class MissedMass {
 public:
  // `samples` need not be whole; 0 < probability <= 1.
  void add(double step, double probability, double samples);
  // A part of which only moments are known, taken as a gamma; `largest_mean` is the largest step q/p in it, and
  // `probability` the one that its blocks are sampled with.
  void add_continuous(double mean, double variance, double largest_mean, double probability = 0);
  void add(const MissedMass& other);

  // A kind of block: what it weighs (0: a continuous part) and what hides behind one sample of it.
  struct Kind {
    double step = 0;
    double mean = 0;

    // The same blocks sampled at a rate that is so many times as large.
    Kind at_rate(double rate_ratio) const;
  };
  // Blocks of this kind may be there though none was sampled.  Where only large blocks were, behind which little
  // hides, the upper end of interval() allows for a sample of this kind, and not for one more of theirs.
  void allow_for(const Kind& unseen);

  double mean() const { return cumulants_.mean; }

  // The 2.5 % quantile (given that there was a sample at all), and the 97.5 % quantile with 0.7 of a sample more.
  struct Interval {
    double low = 0;
    double high = 0;
    bool is_known = true;  // false: there was no memory to compute it
  };
  Interval interval() const;

  using Cumulants = MissedCumulants;
  using Group = MissedGroup;

  // Of all that was added.
  const Cumulants& cumulants() const { return cumulants_; }

  // The kind that was seen behind which most can hide.
  const Kind& largest() const { return largest_; }

  // What is missed, given the samples; and at most: with one more sample, of `unseen` or of the largest kind,
  // whichever hides more.  The probability that a sum of `lower` is no more than one of another's `upper` is
  // the exact p-value of a comparison of two Poisson counts.
  MissedDistribution lower() const;
  MissedDistribution upper(const Kind& unseen) const;

 private:
  struct Parts {
    MissedDistribution distribution;
    bool has_rest = false;
    double fine = 0;  // steps up to this cannot be felt
  };

  void compact();
  Parts parts() const;
  const Kind& further() const;
  static MissedDistribution with_extra(Parts parts, const Kind& extra);

  Cumulants cumulants_;  // of all that was added
  Kind largest_;
  Kind unseen_;  // that was allowed for
  bool has_small_ = false;
  // -log of the probability that the certain part alone would have given no sample, and of each unit missed.
  double certain_hazard_ = 0;
  double missed_hazard_ = 0;  // times mean
  Array<Group> groups_;       // those whose steps can still be felt in the sum
  size_t compact_at_ = 16;
};

}  // namespace memprof
