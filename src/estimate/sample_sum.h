// SPDX-License-Identifier: Apache-2.0
// What sampling missed behind live samples and behind running totals, and sums of samples with 95 % intervals.
//
// Model: a block of s bytes drawn at rate R is sampled with p = 1 - e^(-s/R) and stands for 1/p blocks.  What
// the samples show is certain; what was missed is a sum of geometric variables (missed_mass.h).
// docs/decisions/0007-intervals-of-what-was-missed.md says how running totals get theirs.
//
// Threads: plain values.
// Allocates: by malloc.  Failure: an interval that is not known.
#pragma once

#include <cstdint>

#include "estimate/missed_mass.h"

namespace memprof {

// p, the probability that a block is sampled: 1 for rate 0 and 1; a block of 0 bytes counts as one of 1 byte.
double sampling_probability(uint64_t size_bytes, uint64_t rate_bytes);

// Sums over samples that are no longer at hand one by one.
struct SampleTotals {
  uint64_t samples = 0;
  uint64_t size_bytes = 0;
  double weight_bytes = 0, weight_count = 0;
  double variance_bytes = 0, variance_count = 0;
  double max_missed_bytes = 0, max_missed_count = 0;
};

// Adds what was missed behind so many live samples of one size and rate.
void add_missed(uint64_t size_bytes, uint64_t rate_bytes, uint64_t samples, MissedMass* blocks,
                MissedMass* bytes);
// The same behind running totals.
void add_missed(const SampleTotals& totals, MissedMass* blocks, MissedMass* bytes);

// A value with its 95 % interval: low <= value <= high.
struct Bounds {
  double value = 0;
  double low = 0;
  double high = 0;
  bool is_known = true;  // false: there was no memory to compute the ends
};
// Of what the samples show, `certain`, and what they missed.
Bounds bounds_of(double certain, const MissedMass& missed);

// Samples of any stacks, added up.
class SampleSum {
 public:
  void add(uint64_t size_bytes, uint64_t rate_bytes, uint64_t samples);
  void add(const SampleTotals& totals);

  Bounds bytes() const { return bounds_of(certain_bytes_, missed_bytes_); }
  Bounds blocks() const { return bounds_of(certain_blocks_, missed_blocks_); }

  double certain_bytes() const { return certain_bytes_; }
  double certain_blocks() const { return certain_blocks_; }
  const MissedMass& missed_bytes() const { return missed_bytes_; }
  const MissedMass& missed_blocks() const { return missed_blocks_; }
  uint64_t samples() const { return samples_; }
  uint64_t max_rate_bytes() const { return max_rate_bytes_; }  // of live samples

 private:
  MissedMass missed_blocks_;
  MissedMass missed_bytes_;
  double certain_blocks_ = 0;
  double certain_bytes_ = 0;
  uint64_t samples_ = 0;
  uint64_t max_rate_bytes_ = 0;
};

}  // namespace memprof
