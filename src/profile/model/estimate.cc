// SPDX-License-Identifier: Apache-2.0
#include "profile/model/estimate.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "profile/model/metric.h"

namespace memprof::profile {

double unlisted_bound_bytes(uint64_t rate_bytes) {
  constexpr double kMinusLogOfFivePercent = 2.995732273553991;
  return rate_bytes <= 1 ? 0 : kMinusLogOfFivePercent * static_cast<double>(rate_bytes);
}

double estimated_value(const Stack& stack, Metric metric) {
  if (!stack.has_statistics || metric_is_apart(metric) || metric_is_resident(metric)) {
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

// A program that has ended has freed most of what its user asks for.  With few samples none may be of the half
// that tells the peak, nor live at the end.
Metric default_metric(const Profile& profile) {
  if (profile.has_ended && profile.has_metric[metric_index(Metric::kPeakSpace)]) {
    for (const Metric metric : {Metric::kPeakSpace, Metric::kInuseSpace, Metric::kAllocSpace}) {
      if (profile.has_metric[metric_index(metric)] && estimated_total(profile, metric) > 0) return metric;
    }
  }
  for (const Metric metric :
       {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kInuseObjects, Metric::kAllocObjects}) {
    if (profile.has_metric[metric_index(metric)]) return metric;
  }
  return Metric::kInuseSpace;
}

void Accumulator::add_live(const LiveGroup& group) {
  const auto samples = static_cast<double>(group.samples);
  certain_[metric_index(Metric::kInuseObjects)] += samples;
  certain_[metric_index(Metric::kInuseSpace)] += samples * static_cast<double>(group.size_bytes);
  add_missed(group.size_bytes, group.rate_bytes, group.samples, &missed_[metric_index(Metric::kInuseObjects)],
             &missed_[metric_index(Metric::kInuseSpace)]);
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
  certain_[metric_index(blocks_metric)] += static_cast<double>(totals.samples);
  certain_[metric_index(bytes_metric)] += static_cast<double>(totals.size_bytes);
  add_missed(totals, &missed_[metric_index(blocks_metric)], &missed_[metric_index(bytes_metric)]);
}

void Accumulator::add_values(const std::array<double, kMetricCount>& values) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    certain_[i] += values[i];
    doubtful_[i] += std::abs(values[i]);
  }
  has_values_ = true;
}

void Accumulator::add(const Stack& stack) {
  if (!stack.has_statistics) {
    add_values(stack.values);
    return;
  }
  for (const Metric metric : kMetrics) {
    if (metric_is_apart(metric)) certain_[metric_index(metric)] += stack.values[metric_index(metric)];
  }
  add_allocated(stack.allocated);
  add_peak(stack.peak);
  add_temporary(stack.temporary);
  for (const LiveGroup& group : stack.live) {
    add_live(group);
  }
  // Blocks of no bytes (malloc(0)) are there, too.
  if (stack.values[metric_index(Metric::kResidentObjects)] != 0 ||
      stack.values[metric_index(Metric::kResidentSpace)] != 0) {
    add_resident(stack);
  }
}

// What was missed of a block that is in memory is no more than what was missed of it: the interval is as wide as that of
// what lives, around what the file says.
void Accumulator::add_resident(const Stack& stack) {
  MissedMass blocks;
  MissedMass bytes;
  for (const LiveGroup& group : stack.live) {
    add_missed(group.size_bytes, group.rate_bytes, group.samples, &blocks, &bytes);
  }
  const auto add = [&](Metric metric, const MissedMass& missed) {
    certain_[metric_index(metric)] += stack.values[metric_index(metric)] - missed.mean();
    missed_[metric_index(metric)].add(missed);
  };
  add(Metric::kResidentObjects, blocks);
  add(Metric::kResidentSpace, bytes);
}

void Accumulator::add(const Accumulator& other) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    missed_[i].add(other.missed_[i]);
    certain_[i] += other.certain_[i];
    doubtful_[i] += other.doubtful_[i];
  }
  has_values_ = has_values_ || other.has_values_;
}

double Accumulator::value(Metric metric) const {
  return certain_[metric_index(metric)] + missed_[metric_index(metric)].mean();
}

bool Accumulator::has_interval(Metric metric) const {
  if (metric_is_js(metric) && value(metric) != 0) return false;  // the runtime does not say how exact it is
  constexpr double kMaxDoubtful = 0.01;
  const double all = value(metric);
  return !has_values_ || (all > 0 && doubtful_[metric_index(metric)] <= kMaxDoubtful * all);
}

Estimate Accumulator::estimate(Metric metric) const {
  Estimate estimate;
  estimate.value = value(metric);
  estimate.has_interval = has_interval(metric);
  if (!estimate.has_interval) {
    estimate.low = estimate.high = estimate.value;
    return estimate;
  }
  const Bounds bounds = bounds_of(certain_[metric_index(metric)], missed_[metric_index(metric)]);
  if (!bounds.is_known) throw std::bad_alloc();
  estimate.low = bounds.low - doubtful_[metric_index(metric)];
  estimate.high = bounds.high + doubtful_[metric_index(metric)];
  if (metric_is_resident(metric)) estimate.low = std::clamp(estimate.low, 0.0, std::max(estimate.value, 0.0));
  return estimate;
}

std::array<Estimate, kMetricCount> Accumulator::estimates() const {
  std::array<Estimate, kMetricCount> all;
  for (const Metric metric : kMetrics) all[metric_index(metric)] = estimate(metric);
  return all;
}

}  // namespace memprof::profile
