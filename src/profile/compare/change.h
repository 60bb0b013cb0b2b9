// SPDX-License-Identifier: Apache-2.0
// How much more something holds after than before, how sure that is, and how likely chance alone made it.
//
// Model: the two sides are sampled independently.  What a side holds is what its samples show and what they
// missed (missed_mass.h).  p is twice the probability that the side with less, with one sample more, holds as
// much as the side with more: where blocks are small, the exact conditional test of two Poisson counts, also
// at different rates.  A side without a sample is not zero: it may have missed blocks such as the other
// shows. Where a side is several files, their spread counts, too (Welch's test); the larger p and the wider
// interval are taken.  docs/decisions/0057-how-two-profiles-are-compared.md says why.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/model/estimate.h"
#include "profile/model/model.h"

namespace memprof::profile {

// What the files of one side hold of something.
class SideSum {
 public:
  // Of all the files of the side together, `sum` being what one of them holds.
  void add_file(const Accumulator& sum);

  const Accumulator& sum() const { return sum_; }
  // By metric_index(): the sum over files of the values, and of their squares.
  double values(Metric metric) const { return values_[static_cast<size_t>(metric)]; }
  double squares(Metric metric) const { return squares_[static_cast<size_t>(metric)]; }

 private:
  Accumulator sum_;
  std::array<double, kMetricCount> values_{};
  std::array<double, kMetricCount> squares_{};
};

// What is true of a whole side.
struct SideFacts {
  size_t files = 1;
  uint64_t rate_bytes = 0;    // the largest of its files
  bool has_intervals = true;  // false: at least one file has no statistics
};

struct Change {
  Estimate before;  // of a file, on average
  Estimate after;
  double value = 0;  // after - before
  double low = 0;    // with value and high: the 95 % interval
  double high = 0;
  double p_value = 1;
  bool is_tested = false;  // else p_value is 1 and the ends are the value: nothing is known of chance
};

// Without intervals: the value, and p where `is_tested`.  What sums over many rows need of each.
Change tested_change(const SideSum& before, const SideSum& after, const SideFacts& facts_before,
                     const SideFacts& facts_after, Metric metric);

// The same with its interval and those of both sides.
Change whole_change(const SideSum& before, const SideSum& after, const SideFacts& facts_before,
                    const SideFacts& facts_after, Metric metric);

}  // namespace memprof::profile
