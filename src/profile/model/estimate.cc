// SPDX-License-Identifier: Apache-2.0
#include "profile/model/estimate.h"

#include <algorithm>
#include <cmath>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

// What is known of the samples of one kind behind running totals.
struct Kind {
  double samples = 0;
  double size_bytes = 0;    // sum
  double weight_bytes = 0;  // sum
  double weight_count = 0;  // sum
};

}  // namespace

double sampling_probability(uint64_t size_bytes, uint64_t rate_bytes) {
  if (rate_bytes <= 1) {
    return 1;
  }
  const uint64_t clock_bytes = std::max<uint64_t>(size_bytes, 1);
  return -std::expm1(-static_cast<double>(clock_bytes) / static_cast<double>(rate_bytes));
}

double unlisted_bound_bytes(uint64_t rate_bytes) {
  constexpr double kMinusLogOfFivePercent = 2.995732273553991;
  return rate_bytes <= 1 ? 0 : kMinusLogOfFivePercent * static_cast<double>(rate_bytes);
}

double estimated_value(const Stack& stack, Metric metric) {
  if (!stack.has_statistics) {
    return stack.values[metric_index(metric)];
  }
  if (metric == Metric::kAllocObjects) {
    return stack.allocated.weight_count;
  }
  if (metric == Metric::kAllocSpace) {
    return stack.allocated.weight_bytes;
  }
  if (metric_is_peak(metric)) {
    return metric == Metric::kPeakObjects ? stack.peak.weight_count : stack.peak.weight_bytes;
  }
  if (metric_is_temporary(metric)) {
    return metric_is_bytes(metric) ? stack.temporary.weight_bytes : stack.temporary.weight_count;
  }
  double sum = 0;
  for (const LiveGroup& group : stack.live) {
    const double blocks =
        static_cast<double>(group.samples) / sampling_probability(group.size_bytes, group.rate_bytes);
    sum += metric == Metric::kInuseObjects ? blocks : blocks * static_cast<double>(group.size_bytes);
  }
  return sum;
}

double estimated_total(const Profile& profile, Metric metric) {
  double total = 0;
  for (const Stack& stack : profile.stacks) {
    total += estimated_value(stack, metric);
  }
  return total;
}

// A program that has ended has freed most of what its user asks for.
Metric default_metric(const Profile& profile) {
  if (profile.has_ended && profile.has_metric[metric_index(Metric::kPeakSpace)] &&
      estimated_total(profile, Metric::kPeakSpace) > 0) {
    return Metric::kPeakSpace;
  }
  for (const Metric metric :
       {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kInuseObjects, Metric::kAllocObjects}) {
    if (profile.has_metric[metric_index(metric)]) return metric;
  }
  return Metric::kInuseSpace;
}

void Accumulator::add_live(const LiveGroup& group) {
  const double probability = sampling_probability(group.size_bytes, group.rate_bytes);
  const auto samples = static_cast<double>(group.samples);
  const auto size = static_cast<double>(group.size_bytes);
  certain_[metric_index(Metric::kInuseObjects)] += samples;
  certain_[metric_index(Metric::kInuseSpace)] += samples * size;
  missed_[metric_index(Metric::kInuseObjects)].add(1, probability, samples);
  missed_[metric_index(Metric::kInuseSpace)].add(size, probability, samples);
}

void Accumulator::add_allocated(const Totals& totals) {
  add_totals(totals, Metric::kAllocObjects, Metric::kAllocSpace);
}

void Accumulator::add_peak(const Totals& totals) {
  add_totals(totals, Metric::kPeakObjects, Metric::kPeakSpace);
}

void Accumulator::add_temporary(const Totals& totals) {
  add_totals(totals, Metric::kTemporaryObjects, Metric::kTemporarySpace);
}

void Accumulator::add_totals(const Totals& totals, Metric blocks_metric, Metric bytes_metric) {
  MissedMass& blocks = missed_[metric_index(blocks_metric)];
  MissedMass& bytes = missed_[metric_index(bytes_metric)];
  const auto n = static_cast<double>(totals.samples);
  const auto size = static_cast<double>(totals.size_bytes);
  certain_[metric_index(blocks_metric)] += n;
  certain_[metric_index(bytes_metric)] += size;
  if (totals.samples == 0) {
    return;
  }
  const double missed_count = totals.weight_count - n;
  const double missed_bytes = totals.weight_bytes - size;
  if (!(totals.max_missed_count > 0)) {
    return;
  }
  if (std::abs(totals.max_missed_count * n - missed_count) <=
      1e-6 * missed_count + 1e-12 * totals.weight_count) {
    // The largest is the mean: all blocks have one size.
    const double probability = 1 / (1 + totals.max_missed_count);
    blocks.add(1, probability, n);
    bytes.add(size / n, probability, n);
    return;
  }
  // Two kinds of blocks that give the same sums: the smallest, which the maxima tell, and one other.
  const double c1 = 1 + totals.max_missed_count;
  const double s1 = totals.max_missed_bytes / totals.max_missed_count;
  const double w1 = s1 * c1;
  const double n1 = (totals.weight_bytes * n - size * totals.weight_count) /
                    (w1 * n + totals.weight_bytes - s1 * totals.weight_count - c1 * size);
  const double n2 = n - n1;
  const double s2 = (size - n1 * s1) / n2;
  const double p2 = n2 / (totals.weight_count - n1 * c1);
  if (n1 > 0 && n2 > 0 && s2 > s1 && p2 > 0 && p2 <= 1) {
    blocks.add(1, 1 / c1, n1);
    bytes.add(s1, 1 / c1, n1);
    blocks.add(1, p2, n2);
    bytes.add(s2, p2, n2);
    return;
  }
  blocks.add_continuous(missed_count, totals.variance_count, totals.max_missed_count);
  bytes.add_continuous(missed_bytes, totals.variance_bytes, totals.max_missed_bytes);
}

void Accumulator::add_values(const std::array<double, kMetricCount>& values) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    certain_[i] += values[i];
  }
  has_interval_ = false;
}

void Accumulator::add(const Stack& stack) {
  if (!stack.has_statistics) {
    add_values(stack.values);
    return;
  }
  add_allocated(stack.allocated);
  add_peak(stack.peak);
  add_temporary(stack.temporary);
  for (const LiveGroup& group : stack.live) {
    add_live(group);
  }
}

void Accumulator::add(const Accumulator& other) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    missed_[i].add(other.missed_[i]);
    certain_[i] += other.certain_[i];
  }
  has_interval_ = has_interval_ && other.has_interval_;
}

double Accumulator::value(Metric metric) const {
  return certain_[metric_index(metric)] + missed_[metric_index(metric)].mean();
}

Estimate Accumulator::estimate(Metric metric) const {
  Estimate estimate;
  estimate.value = value(metric);
  estimate.has_interval = has_interval_;
  if (!has_interval_) {
    estimate.low = estimate.high = estimate.value;
    return estimate;
  }
  const MissedMass::Interval missed = missed_[metric_index(metric)].interval();
  estimate.low = std::min(certain_[metric_index(metric)] + missed.low, estimate.value);
  estimate.high = std::max(certain_[metric_index(metric)] + missed.high, estimate.value);
  return estimate;
}

std::array<Estimate, kMetricCount> Accumulator::estimates() const {
  std::array<Estimate, kMetricCount> all;
  for (const Metric metric : kMetrics) all[metric_index(metric)] = estimate(metric);
  return all;
}

}  // namespace memprof::profile
