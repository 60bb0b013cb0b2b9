// SPDX-License-Identifier: Apache-2.0
#include "estimate/sample_sum.h"

#include <algorithm>
#include <cmath>

#include "estimate/math.h"

namespace memprof {

namespace {

// Small blocks may be there though none was sampled: behind a sample of these hides the rate, in blocks of 16 bytes at
// least (what malloc gives for less, on 64 bits).
void allow_for_small(double rate_bytes, MissedMass* blocks, MissedMass* bytes) {
  constexpr double kSmallest = 16;
  blocks->allow_for({0, rate_bytes / kSmallest});
  bytes->allow_for({0, rate_bytes});
}

}  // namespace

double sampling_probability(uint64_t size_bytes, uint64_t rate_bytes) {
  if (rate_bytes <= 1) {
    return 1;
  }
  const uint64_t clock_bytes = std::max<uint64_t>(size_bytes, 1);
  return one_minus_exp(static_cast<double>(clock_bytes) / static_cast<double>(rate_bytes));
}

void add_missed(uint64_t size_bytes, uint64_t rate_bytes, uint64_t samples, MissedMass* blocks,
                MissedMass* bytes) {
  const double probability = sampling_probability(size_bytes, rate_bytes);
  blocks->add(1, probability, static_cast<double>(samples));
  bytes->add(static_cast<double>(size_bytes), probability, static_cast<double>(samples));
  if (rate_bytes > 1) allow_for_small(static_cast<double>(rate_bytes), blocks, bytes);
}

void add_missed(const SampleTotals& totals, MissedMass* blocks, MissedMass* bytes) {
  if (totals.samples == 0) {
    return;
  }
  const auto n = static_cast<double>(totals.samples);
  const auto size = static_cast<double>(totals.size_bytes);
  const double missed_count = totals.weight_count - n;
  const double missed_bytes = totals.weight_bytes - size;
  if (!(totals.max_missed_count > 0)) {
    return;
  }
  // The maxima are of the smallest block: its size, and from p = 1 - e^(-size / rate) the rate.
  const double smallest = totals.max_missed_bytes / totals.max_missed_count;
  allow_for_small(smallest / log_one_plus(1 / totals.max_missed_count), blocks, bytes);
  if (std::fabs(totals.max_missed_count * n - missed_count) <=
      1e-6 * missed_count + 1e-12 * totals.weight_count) {
    // The largest is the mean: all blocks have one size.
    const double probability = 1 / (1 + totals.max_missed_count);
    blocks->add(1, probability, n);
    bytes->add(size / n, probability, n);
    return;
  }
  // Two kinds of blocks that give the same sums: the smallest, which the maxima tell, and one other.
  const double c1 = 1 + totals.max_missed_count;
  const double s1 = smallest;
  const double w1 = s1 * c1;
  const double n1 = (totals.weight_bytes * n - size * totals.weight_count) /
                    (w1 * n + totals.weight_bytes - s1 * totals.weight_count - c1 * size);
  const double n2 = n - n1;
  const double s2 = (size - n1 * s1) / n2;
  const double p2 = n2 / (totals.weight_count - n1 * c1);
  if (n1 > 0 && n2 > 0 && s2 > s1 && p2 > 0 && p2 <= 1) {
    blocks->add(1, 1 / c1, n1);
    bytes->add(s1, 1 / c1, n1);
    blocks->add(1, p2, n2);
    bytes->add(s2, p2, n2);
    return;
  }
  blocks->add_continuous(missed_count, totals.variance_count, totals.max_missed_count, 1 / c1);
  bytes->add_continuous(missed_bytes, totals.variance_bytes, totals.max_missed_bytes, 1 / c1);
}

Bounds bounds_of(double certain, const MissedMass& missed) {
  const MissedMass::Interval interval = missed.interval();
  const double value = certain + missed.mean();
  return {value, std::min(certain + interval.low, value), std::max(certain + interval.high, value),
          interval.is_known};
}

void SampleSum::add(uint64_t size_bytes, uint64_t rate_bytes, uint64_t samples) {
  if (samples == 0) {
    return;
  }
  certain_blocks_ += static_cast<double>(samples);
  certain_bytes_ += static_cast<double>(samples) * static_cast<double>(size_bytes);
  add_missed(size_bytes, rate_bytes, samples, &missed_blocks_, &missed_bytes_);
  samples_ += samples;
  max_rate_bytes_ = std::max(max_rate_bytes_, rate_bytes);
}

void SampleSum::add(const SampleTotals& totals) {
  certain_blocks_ += static_cast<double>(totals.samples);
  certain_bytes_ += static_cast<double>(totals.size_bytes);
  add_missed(totals, &missed_blocks_, &missed_bytes_);
  samples_ += totals.samples;
}

}  // namespace memprof
