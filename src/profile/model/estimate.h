// SPDX-License-Identifier: Apache-2.0
// Estimates of bytes and blocks with 95 % intervals, and sums of them over any number of stacks.
//
// Model: a block of s bytes drawn at rate R is sampled with p = 1 - e^(-s/R) and stands for 1/p blocks.  What
// the samples show is certain; what was missed is a sum of geometric variables (missed_mass.h).  Stacks are
// sampled independently, so a sum adds certain parts and missed masses, never ends of intervals.
// docs/decisions/0007-intervals-of-what-was-missed.md says how running totals get theirs.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>

#include "estimate/missed_mass.h"
#include "estimate/sample_sum.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct Estimate {
  double value = 0;
  double low = 0;  // with value and high: low <= value <= high
  double high = 0;
  // False where the file has no statistics (a profile that memprof did not write, or one that was altered):
  // then low and high are the value itself and nothing may be said about how far off it is.
  bool has_interval = true;
};

// Best estimate for one stack, without an interval: the fast way where only a number is wanted.
double estimated_value(const Stack& stack, Metric metric);
// The same for all stacks together.
double estimated_total(const Profile& profile, Metric metric);

// What a reader most likely asks for.  Of a program that has ended: the peak, else what was live at the end, else
// what was allocated: the first of which there are samples.  Of others: what is live, or the first that there is.
Metric default_metric(const Profile& profile);

// A site that is not listed (not one sample) holds less than this, with 95 % confidence: -ln(0.05) R; 0 when
// every allocation is recorded.
double unlisted_bound_bytes(uint64_t rate_bytes);

// Sums stacks, or parts of them, and estimates the sum.  Value-initialised it is an empty sum.
class Accumulator {
 public:
  void add(const Stack& stack);              // all metrics
  void add(const Accumulator& other);        // samples of different stacks
  void add_live(const LiveGroup& group);     // inuse_*
  void add_allocated(const Totals& totals);  // alloc_*
  void add_peak(const Totals& totals);       // peak_*
  void add_temporary(const Totals& totals);  // temporary_*
  // Of a stack without statistics: adds to the certain part.  The interval of a sum counts them as if they could as
  // well be 0 or twice as much, and is not known where they are more than a hundredth of it.
  void add_values(const std::array<double, kMetricCount>& values);

  double value(Metric metric) const;  // of estimate(metric), without the cost of the interval
  Estimate estimate(Metric metric) const;
  std::array<Estimate, kMetricCount> estimates() const;  // by metric_index()

  // What estimates are made of; an interval is known only where has_interval(metric).
  double certain(Metric metric) const { return certain_[static_cast<size_t>(metric)]; }
  const MissedMass& missed(Metric metric) const { return missed_[static_cast<size_t>(metric)]; }
  bool has_interval(Metric metric) const;

 private:
  void add_totals(const Totals& totals, Metric blocks_metric, Metric bytes_metric);
  void add_resident(const Stack& stack);

  std::array<MissedMass, kMetricCount> missed_;
  std::array<double, kMetricCount> certain_{};
  std::array<double, kMetricCount> doubtful_{};  // of certain_, the values without statistics
  bool has_values_ = false;
};

}  // namespace memprof::profile
