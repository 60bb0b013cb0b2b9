// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/change.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "estimate/difference.h"
#include "profile/model/metric.h"
#include "profile/report/report_cells.h"
#include "profile/significance/spread_test.h"

namespace memprof::profile {
namespace {

// Two sums of the same numbers in another order.
constexpr double kEqual = 1e-9;

struct Side {
  const SideSum& sum;
  const SideFacts& facts;

  double files() const { return static_cast<double>(facts.files); }
};

// What `side` shows, to the other one.
Shown shown_by(const Side& side, Metric metric) {
  const Accumulator& sum = side.sum.sum();
  const bool is_of_bytes = metric_is_bytes(metric);
  const double own = sum.value(metric);
  const double other = sum.value(companions(metric)[0]);
  return {side.facts.rate_bytes, sum.missed(metric).largest(), is_of_bytes ? own : other,
          is_of_bytes ? other : own, is_of_bytes};
}

MissedMass::Kind unseen_of(const Side& side, const Side& other, Metric metric) {
  return unseen_kind(side.facts.rate_bytes, shown_by(other, metric));
}

MissedSide missed_of(const Side& side, Metric metric) {
  return {side.sum.sum().certain(metric), &side.sum.sum().missed(metric), side.files()};
}

// What hides behind one more sample of the side's sum.
double hidden_mass(const Side& side, const Side& other, Metric metric) {
  return std::max(side.sum.sum().missed(metric).largest().mean, unseen_of(side, other, metric).mean);
}

Sample sample_of(const Side& side, const Side& other, Metric metric) {
  double variance = 0;
  if (side.facts.has_intervals && other.facts.has_intervals) {
    const double hidden = hidden_mass(side, other, metric);
    variance = (side.sum.sum().missed(metric).cumulants().variance + hidden * hidden) / side.files();
  }
  return {side.files(), side.sum.values(metric), side.sum.squares(metric), variance};
}

Estimate per_file(const Side& side, Metric metric, bool with_interval) {
  Estimate estimate;
  if (with_interval) {
    estimate = side.sum.sum().estimate(metric);
  } else {
    estimate.value = estimate.low = estimate.high = side.sum.sum().value(metric);
  }
  estimate.value /= side.files();
  estimate.low /= side.files();
  estimate.high /= side.files();
  estimate.has_interval = estimate.has_interval && side.facts.has_intervals;
  return estimate;
}

bool is_equal(double a, double b) {
  return std::abs(a - b) <= kEqual * std::max(std::abs(a), std::abs(b));
}

Change start(const Side& before, const Side& after, Metric metric, bool with_interval) {
  Change change;
  change.before = per_file(before, metric, with_interval);
  change.after = per_file(after, metric, with_interval);
  const bool same = is_equal(change.before.value, change.after.value);
  change.value = change.low = change.high = same ? 0 : change.after.value - change.before.value;
  change.is_tested = (before.facts.has_intervals && after.facts.has_intervals) ||
                     has_spread(before.facts.files, after.facts.files);
  return change;
}

// Two-sided, by the side with more.
double sampling_p(const Side& more, const Side& less, Metric metric) {
  // Most rows need no better than the normal distribution, because they are far from significant: those that
  // differ by no more than what hides behind one sample, or, at one rate, by a standard deviation.
  constexpr double kFarFromSignificant = 1.2;
  const MissedMass& missed_more = more.sum.sum().missed(metric);
  const MissedMass& missed_less = less.sum.sum().missed(metric);
  const double hidden = hidden_mass(less, more, metric) / less.files();
  const double variance = missed_more.cumulants().variance / (more.files() * more.files()) +
                          missed_less.cumulants().variance / (less.files() * less.files()) + hidden * hidden;
  const double difference =
      more.sum.sum().value(metric) / more.files() - less.sum.sum().value(metric) / less.files();
  if (difference < kFarFromSignificant * hidden ||
      (more.facts.rate_bytes == less.facts.rate_bytes && difference * difference < variance)) {
    return std::erfc(difference / std::sqrt(2 * variance));
  }
  const Cells min = min_cells(missed_of(more, metric));
  const Cells max = max_cells(missed_of(less, metric), unseen_of(less, more, metric));
  if (min.has_failed() || max.has_failed()) throw std::bad_alloc();
  return std::min(1.0, 2 * probability_up_to(min, max, 0));
}

void set_p(const Side& before, const Side& after, Metric metric, Change* change) {
  if (!change->is_tested || change->value == 0) return;
  change->p_value = 0;
  if (before.facts.has_intervals && after.facts.has_intervals) {
    change->p_value =
        change->value > 0 ? sampling_p(after, before, metric) : sampling_p(before, after, metric);
  }
  if (has_spread(before.facts.files, after.facts.files)) {
    const SpreadTest test = spread_test(sample_of(before, after, metric), sample_of(after, before, metric));
    change->p_value = std::max(change->p_value, test.p_value);
  }
}

void set_interval(const Side& before, const Side& after, Metric metric, Change* change) {
  if (!change->is_tested) return;
  if (before.facts.has_intervals && after.facts.has_intervals) {
    Bounds bounds{change->value, change->low, change->high};
    widen_to_interval(missed_of(before, metric), unseen_of(before, after, metric), missed_of(after, metric),
                      unseen_of(after, before, metric), &bounds);
    if (!bounds.is_known) throw std::bad_alloc();
    change->low = bounds.low;
    change->high = bounds.high;
  }
  if (has_spread(before.facts.files, after.facts.files)) {
    const SpreadTest test = spread_test(sample_of(before, after, metric), sample_of(after, before, metric));
    change->low = std::min(change->low, change->value - test.half_width);
    change->high = std::max(change->high, change->value + test.half_width);
  }
}

}  // namespace

void SideSum::add_file(const Accumulator& sum) {
  sum_.add(sum);
  for (const Metric metric : kMetrics) {
    const double value = sum.value(metric);
    values_[metric_index(metric)] += value;
    squares_[metric_index(metric)] += value * value;
  }
}

Change tested_change(const SideSum& before, const SideSum& after, const SideFacts& facts_before,
                     const SideFacts& facts_after, Metric metric) {
  const Side b{before, facts_before};
  const Side a{after, facts_after};
  Change change = start(b, a, metric, false);
  set_p(b, a, metric, &change);
  return change;
}

Change whole_change(const SideSum& before, const SideSum& after, const SideFacts& facts_before,
                    const SideFacts& facts_after, Metric metric) {
  const Side b{before, facts_before};
  const Side a{after, facts_after};
  Change change = start(b, a, metric, true);
  set_p(b, a, metric, &change);
  set_interval(b, a, metric, &change);
  return change;
}

}  // namespace memprof::profile
