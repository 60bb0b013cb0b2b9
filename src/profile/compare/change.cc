// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/change.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "profile/model/metric.h"
#include "profile/model/spread_test.h"
#include "profile/report/report_cells.h"

namespace memprof::profile {
namespace {

using Atom = MissedDistribution::Atom;

constexpr size_t kCells = 192;
constexpr double kTail = 0.025;
// Two sums of the same numbers in another order.
constexpr double kEqual = 1e-9;

struct Side {
  const SideSum& sum;
  const SideFacts& facts;

  bool is_exact() const { return facts.rate_bytes <= 1; }
  double files() const { return static_cast<double>(facts.files); }
};

// The blocks that `side` may hold without a sample, as far as `other` shows what there is.
MissedMass::Kind unseen_kind(const Side& side, const Side& other, Metric metric) {
  if (side.is_exact()) return {};
  const auto rate = static_cast<double>(side.facts.rate_bytes);
  const Accumulator& shown = other.sum.sum();
  if (!other.is_exact()) {
    return shown.missed(metric).largest().at_rate(rate / static_cast<double>(other.facts.rate_bytes));
  }
  // What was recorded exactly is known by its sums alone.  Behind a sample hides the rate, or less.
  if (metric_is_bytes(metric)) return {0, shown.value(metric) > 0 ? rate : 0};
  const double blocks = shown.value(metric);
  const double bytes = shown.value(companions(metric)[0]);
  return {0, blocks > 0 ? rate * blocks / std::max(bytes, blocks) : 0};
}

// The values that the side may have, as a file's, ascending.
std::vector<Atom> cells_of(const Side& side, const MissedDistribution& missed, Metric metric) {
  std::vector<Atom> cells = missed.cells(kCells);
  for (Atom& cell : cells) cell.at = (side.sum.sum().certain(metric) + cell.at) / side.files();
  return cells;
}

std::vector<Atom> least_of(const Side& side, Metric metric) {
  return cells_of(side, side.sum.sum().missed(metric).lower(), metric);
}

std::vector<Atom> most_of(const Side& side, const Side& other, Metric metric) {
  return cells_of(side, side.sum.sum().missed(metric).upper(unseen_kind(side, other, metric)), metric);
}

// P(a - b <= difference), of two independent ones.
double probability_up_to(const std::vector<Atom>& a, const std::vector<Atom>& b, double difference) {
  double sum = 0;
  double below = 0;  // P(a <= difference + the b that is looked at)
  size_t next = 0;
  for (const Atom& cell : b) {
    const double limit = difference + cell.at;
    const double slack = kEqual * std::max(std::abs(limit), std::abs(cell.at));
    for (; next < a.size() && a[next].at <= limit + slack; ++next) below += a[next].probability;
    sum += cell.probability * below;
  }
  return sum;
}

// The ends of what holds the difference up to which the share `part` of a - b lies.
struct Ends {
  double low;
  double high;
};
Ends quantile(const std::vector<Atom>& a, const std::vector<Atom>& b, double part) {
  Ends ends{a.front().at - b.back().at, a.back().at - b.front().at};
  if (ends.low == ends.high) return ends;
  const double tolerance = 1e-6 * (ends.high - ends.low);
  while (ends.high - ends.low > tolerance) {
    const double middle = ends.low + (ends.high - ends.low) / 2;
    if (middle <= ends.low || middle >= ends.high) break;
    (probability_up_to(a, b, middle) >= part ? ends.high : ends.low) = middle;
  }
  // What counts as equal is on both sides.
  const double slack = 2 * kEqual * std::max(std::abs(a.back().at), std::abs(b.back().at));
  return {ends.low - slack, ends.high + slack};
}

// What hides behind one more sample of the side's sum.
double hidden_mass(const Side& side, const Side& other, Metric metric) {
  return std::max(side.sum.sum().missed(metric).largest().mean, unseen_kind(side, other, metric).mean);
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
  return std::min(1.0, 2 * probability_up_to(least_of(more, metric), most_of(less, more, metric), 0));
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
    const double low = quantile(least_of(after, metric), most_of(before, after, metric), kTail).low;
    const double high = quantile(most_of(after, before, metric), least_of(before, metric), 1 - kTail).high;
    change->low = std::min(change->low, low);
    change->high = std::max(change->high, high);
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
