// SPDX-License-Identifier: Apache-2.0
#include "estimate/difference.h"

#include <algorithm>
#include <cmath>

#include "estimate/math.h"

namespace memprof {
namespace {

constexpr size_t kCells = 192;
// Two sums of the same numbers in another order.
constexpr double kEqual = 1e-9;

Cells cells_of(const MissedSide& side, const MissedDistribution& missed) {
  Cells cells = missed.cells(kCells);
  for (MissedDistribution::Atom& cell : cells) {
    cell.at = (side.certain + cell.at) / side.parts;
  }
  return cells;
}

Shown shown_by(const SampleSum& sum, uint64_t rate_bytes, bool is_of_bytes) {
  const MissedMass& missed = is_of_bytes ? sum.missed_bytes() : sum.missed_blocks();
  return {rate_bytes, missed.largest(), sum.certain_bytes() + sum.missed_bytes().mean(),
          sum.certain_blocks() + sum.missed_blocks().mean(), is_of_bytes};
}

}  // namespace

MissedMass::Kind unseen_kind(uint64_t rate_bytes, const Shown& other) {
  if (rate_bytes <= 1) {
    return {};
  }
  const auto rate = static_cast<double>(rate_bytes);
  if (other.rate_bytes > 1) {
    return other.kind.at_rate(rate / static_cast<double>(other.rate_bytes));
  }
  // What was recorded exactly is known by its sums alone.  Behind a sample hides the rate, or less.
  if (other.is_of_bytes) {
    return {0, other.bytes > 0 ? rate : 0};
  }
  return {0, other.blocks > 0 ? rate * other.blocks / std::max(other.bytes, other.blocks) : 0};
}

Cells min_cells(const MissedSide& side) {
  return cells_of(side, side.missed->lower());
}

Cells max_cells(const MissedSide& side, const MissedMass::Kind& unseen) {
  return cells_of(side, side.missed->upper(unseen));
}

double probability_up_to(const Cells& a, const Cells& b, double difference) {
  double sum = 0;
  double below = 0;  // P(a <= difference + the b that is looked at)
  size_t next = 0;
  for (const MissedDistribution::Atom& cell : b) {
    const double limit = difference + cell.at;
    const double slack = kEqual * std::max(std::fabs(limit), std::fabs(cell.at));
    for (; next < a.size() && a[next].at <= limit + slack; ++next) below += a[next].probability;
    sum += cell.probability * below;
  }
  return sum;
}

QuantileEnds difference_quantile(const Cells& a, const Cells& b, double part) {
  QuantileEnds ends{a.front().at - b.back().at, a.back().at - b.front().at};
  if (ends.low == ends.high) return ends;
  const double tolerance = 1e-6 * (ends.high - ends.low);
  while (ends.high - ends.low > tolerance) {
    const double middle = ends.low + (ends.high - ends.low) / 2;
    if (middle <= ends.low || middle >= ends.high) break;
    (probability_up_to(a, b, middle) >= part ? ends.high : ends.low) = middle;
  }
  // What counts as equal is on both sides.
  const double slack = 2 * kEqual * std::max(std::fabs(a.back().at), std::fabs(b.back().at));
  return {ends.low - slack, ends.high + slack};
}

void widen_to_interval(const MissedSide& before, const MissedMass::Kind& unseen_before,
                       const MissedSide& after, const MissedMass::Kind& unseen_after, Bounds* difference) {
  const Cells min_before = min_cells(before);
  const Cells max_before = max_cells(before, unseen_before);
  const Cells min_after = min_cells(after);
  const Cells max_after = max_cells(after, unseen_after);
  for (const Cells* cells : {&min_before, &max_before, &min_after, &max_after}) {
    if (cells->has_failed() || cells->empty()) {
      difference->is_known = false;
      return;
    }
  }
  difference->low = std::min(difference->low, difference_quantile(min_after, max_before, kTail95).low);
  difference->high = std::max(difference->high, difference_quantile(max_after, min_before, 1 - kTail95).high);
}

Bounds difference_of(const SampleSum& before, const SampleSum& after, bool is_of_bytes) {
  // A side without a sample was sampled as the other one.
  const uint64_t rate_before = before.samples() > 0 ? before.max_rate_bytes() : after.max_rate_bytes();
  const uint64_t rate_after = after.samples() > 0 ? after.max_rate_bytes() : before.max_rate_bytes();
  const MissedSide was{is_of_bytes ? before.certain_bytes() : before.certain_blocks(),
                       is_of_bytes ? &before.missed_bytes() : &before.missed_blocks()};
  const MissedSide is{is_of_bytes ? after.certain_bytes() : after.certain_blocks(),
                      is_of_bytes ? &after.missed_bytes() : &after.missed_blocks()};
  const double value = (is.certain + is.missed->mean()) - (was.certain + was.missed->mean());
  Bounds difference{value, value, value};
  if (rate_before > 1 || rate_after > 1) {
    widen_to_interval(was, unseen_kind(rate_before, shown_by(after, rate_after, is_of_bytes)), is,
                      unseen_kind(rate_after, shown_by(before, rate_before, is_of_bytes)), &difference);
  }
  return difference;
}

}  // namespace memprof
