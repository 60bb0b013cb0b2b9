// SPDX-License-Identifier: Apache-2.0
#include "estimate/missed_mass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimate/math.h"

namespace memprof {
namespace {

using Cumulants = MissedMass::Cumulants;
using Group = MissedMass::Group;

// How much of a further sample the upper end allows for.  Mid-P has 0.5, with which the coverage falls
// to 93.7 % at some sizes; with 0.7 it stays above 94 %.
constexpr double kExtraShare = 0.7;
// A large block is sampled with more than this probability: it has more than 1.25 R.  Behind a sample of a smaller one
// hides at least half of what hides behind one of the smallest.
constexpr double kLargeProbability = 0.7135;
// Steps up to this part of the standard deviation cannot be felt.
constexpr double kFineStep = 0.1;
// The same where steps of several lengths blur each other.
constexpr double kFineStepAmongSeveral = 0.2;
constexpr size_t kFewSteps = 2;
constexpr size_t kMaxConvolved = 8;

struct Bracket {
  double below = 0;
  double above = 0;
};

// Narrows down where `excess`, which does not decrease, becomes 0 or more: below the first argument it is
// less.
template <typename Function>
Bracket find_crossing(const Function& excess, double below, double above, double tolerance) {
  double at_below = excess(below);
  if (at_below >= 0) {
    return {below, below};
  }
  double at_above = excess(above);
  for (int i = 0; i < 60 && at_above < 0; ++i) {
    below = above;
    at_below = at_above;
    above *= 2;
    at_above = excess(above);
  }
  for (int i = 0; i < 100 && above - below > tolerance; ++i) {
    // A secant finds smooth places fast; every third step halves, which jumps need.
    double middle = i % 3 == 2 ? 0.5 : -at_below / (at_above - at_below);
    middle = below + (above - below) * std::min(std::max(middle, 0.02), 0.98);
    const double at_middle = excess(middle);
    if (at_middle >= 0) {
      above = middle;
      at_above = at_middle;
    } else {
      below = middle;
      at_below = at_middle;
    }
  }
  return {below, above};
}

bool nearly_equal(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max(a, b);
}

// Puts groups of the same blocks together.
void merge_groups(Array<Group>& groups) {
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.step != b.step ? a.step < b.step : a.probability < b.probability;
  });
  size_t kept = 0;
  for (size_t i = 1; i < groups.size(); ++i) {
    if (nearly_equal(groups[i].step, groups[kept].step) &&
        nearly_equal(groups[i].probability, groups[kept].probability)) {
      groups[kept].samples += groups[i].samples;
    } else {
      groups[++kept] = groups[i];
    }
  }
  if (!groups.empty()) {
    groups.truncate(kept + 1);
  }
}

void drop_fine_steps(Array<Group>& groups, double fine) {
  size_t kept = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].step > fine) {
      groups[kept++] = groups[i];
    }
  }
  groups.truncate(kept);
}

}  // namespace

void MissedMass::add(double step, double probability, double samples) {
  const double q = 1 - probability;
  const double hazard = q > 0 ? -natural_log(q) * samples : HUGE_VAL;  // infinite: nothing can be missed
  certain_hazard_ += hazard;
  has_small_ = has_small_ || !(probability > kLargeProbability);
  if (!(q > 0) || !(step > 0)) {
    return;
  }
  const double mean = step * q / probability;
  cumulants_ += Group{step, probability, samples}.cumulants();
  missed_hazard_ += hazard * mean / step;
  if (mean > largest_.mean) largest_ = {step, mean};
  groups_.push_back({step, probability, samples});
  if (groups_.size() >= compact_at_) {
    compact();
  }
}

void MissedMass::add_continuous(double mean, double variance, double largest_mean, double probability) {
  if (!(mean > 0) || !(variance > 0)) {
    return;
  }
  const double scale = variance / mean;
  cumulants_ += {mean, variance, 2 * variance * scale};
  missed_hazard_ += mean / scale;
  has_small_ = has_small_ || !(probability > kLargeProbability);
  certain_hazard_ = HUGE_VAL;  // unknown, so no allowance for sites that show by chance
  if (largest_mean > largest_.mean) largest_ = {0, largest_mean};
}

void MissedMass::allow_for(const Kind& unseen) {
  if (unseen.mean > unseen_.mean) unseen_ = unseen;
}

void MissedMass::add(const MissedMass& other) {
  allow_for(other.unseen_);
  if (other.certain_hazard_ == 0 && other.missed_hazard_ == 0) return;  // nothing was added to it
  cumulants_ += other.cumulants_;
  certain_hazard_ += other.certain_hazard_;
  missed_hazard_ += other.missed_hazard_;
  has_small_ = has_small_ || other.has_small_;
  if (other.largest_.mean > largest_.mean) largest_ = other.largest_;
  groups_.append(other.groups_);
  if (groups_.size() >= compact_at_) {
    compact();
  }
}

// The standard deviation only grows, so a step that is fine now stays fine.
void MissedMass::compact() {
  merge_groups(groups_);
  drop_fine_steps(groups_, kFineStep * square_root(cumulants_.variance));
  compact_at_ = std::max<size_t>(16, 2 * groups_.size());
}

MissedMass::Parts MissedMass::parts() const {
  Parts parts;
  if (!(cumulants_.variance > 0)) {
    return parts;
  }
  const double deviation = square_root(cumulants_.variance);
  parts.fine = kFineStep * deviation;
  Array<Group> felt = groups_;
  merge_groups(felt);
  drop_fine_steps(felt, parts.fine);
  if (felt.size() > kFewSteps) {
    parts.fine = kFineStepAmongSeveral * deviation;
    drop_fine_steps(felt, parts.fine);
  }
  if (felt.size() > kMaxConvolved) {
    std::nth_element(
        felt.begin(), felt.begin() + kMaxConvolved, felt.end(),
        [](const Group& a, const Group& b) { return a.cumulants().variance > b.cumulants().variance; });
    felt.truncate(kMaxConvolved);
  }
  Cumulants rest = cumulants_;
  for (const Group& group : felt) rest -= group.cumulants();
  parts.has_rest = felt.empty() || rest.variance > 1e-9 * cumulants_.variance;
  parts.distribution = MissedDistribution(rest, parts.has_rest);
  if (felt.has_failed() || groups_.has_failed()) parts.distribution.note_failure();
  for (const Group& group : felt) parts.distribution.convolve(group);
  if (parts.has_rest && !felt.empty()) parts.distribution.coarsen(kFineStep * deviation);
  return parts;
}

MissedDistribution MissedMass::with_extra(Parts parts, const Kind& extra) {
  if (!(extra.mean > 0)) return std::move(parts.distribution);
  Group sample{extra.step, extra.step / (extra.step + extra.mean), 1};
  // Where nothing else is missed, the sample alone says which steps can be felt.
  const double fine = extra.step > 0
                          ? std::max(parts.fine, kFineStep * square_root(sample.cumulants().variance))
                          : parts.fine;
  if (extra.step > fine) {
    parts.distribution.convolve(sample);
  } else if (extra.step > 0) {
    parts.distribution.add_rest(sample.cumulants());
  } else {
    parts.distribution.add_rest(
        {extra.mean, extra.mean * extra.mean, 2 * extra.mean * extra.mean * extra.mean});
  }
  return std::move(parts.distribution);
}

MissedDistribution MissedMass::lower() const {
  return parts().distribution;
}

MissedDistribution MissedMass::upper(const Kind& unseen) const {
  return with_extra(parts(), unseen.mean > largest_.mean ? unseen : largest_);
}

MissedMass::Kind MissedMass::Kind::at_rate(double rate_ratio) const {
  if (!(mean > 0) || !(rate_ratio > 0)) return {};
  if (!(step > 0)) return {step, mean * rate_ratio};
  // p = 1 - e^(-size / rate), and so q/p = 1 / (e^(size / rate) - 1).
  const double hazard = log_one_plus(step / mean);
  return {step, step / exp_minus_one(hazard / rate_ratio)};
}

// The kind that the upper end allows for.
const MissedMass::Kind& MissedMass::further() const {
  return has_small_ || largest_.mean > unseen_.mean ? largest_ : unseen_;
}

MissedMass::Interval MissedMass::interval() const {
  const Kind& further = this->further();
  if (!(cumulants_.variance > 0) && !(further.mean > 0)) {
    return {};
  }
  const double deviation = square_root(cumulants_.variance);
  const Parts parts = this->parts();
  const MissedDistribution& missed = parts.distribution;
  // The same with one more sample, of the kind behind which most can hide.
  const MissedDistribution more = with_extra(parts, further);

  const double tolerance =
      (parts.has_rest ? 1e-4 : 1e-7) * std::max(deviation, further.step > 0 ? 0 : further.mean);
  Bracket low;
  if (cumulants_.mean > 0) {
    const double hazard = missed_hazard_ / cumulants_.mean;
    low = find_crossing(
        [&](double x) { return missed.cdf(x) - kTail95 * -exp_minus_one(-certain_hazard_ - hazard * x); }, 0,
        cumulants_.mean, tolerance);
  }
  const Bracket high = find_crossing(
      [&](double x) { return (1 - kExtraShare) * missed.cdf(x) + kExtraShare * more.cdf(x) - (1 - kTail95); },
      0, cumulants_.mean + 2 * deviation + further.mean, tolerance);
  return {low.below, high.above, !more.has_failed() && !missed.has_failed()};
}

}  // namespace memprof
