// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/survival_curve.h"

#include <algorithm>
#include <cmath>

namespace memprof::profile {
namespace {

// What an interval of a class has of it, on the logarithm; of the first class in proportion.
double share_of_class(uint32_t index, double run_ns, double from, double until) {
  const auto begin = static_cast<double>(lifetime_class_begin_ns(index));
  const auto end = std::min(static_cast<double>(lifetime_class_end_ns(index)), run_ns);
  const double low = std::max(begin, from);
  const double high = std::min(end, until);
  if (!(low < high)) return 0;
  return begin == 0 ? (high - low) / end : std::log(high / low) / std::log(end / begin);
}

struct Step {
  double freed_samples = 0, freed_blocks = 0;
  double censored_samples = 0, censored_blocks = 0;
};

}  // namespace

SurvivalCurve::SurvivalCurve(const SiteLives& lives) {
  const double run = lives.run_ns;
  std::vector<double> ages = {0, run};
  for (uint32_t i = 1; i < kBirthParts; ++i) ages.push_back(lives.age_ns(i));
  for (uint32_t i = 1; i < kLifetimeClasses; ++i) {
    const auto bound = static_cast<double>(lifetime_class_begin_ns(i));
    if (bound < run) ages.push_back(bound);
  }
  std::sort(ages.begin(), ages.end());
  ages.erase(std::unique(ages.begin(), ages.end()), ages.end());
  for (uint32_t i = 0; i <= kBirthParts; ++i) {
    const double age = i == kBirthParts ? run : lives.age_ns(i);
    of_part_[i] = static_cast<size_t>(std::lower_bound(ages.begin(), ages.end(), age) - ages.begin());
  }

  // What seems to have lived longer than the run is of its last step.
  std::vector<Step> steps(ages.size());
  Step left;  // what reaches a step; `freed_`: what will be freed in it or later
  double squares = 0;
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    const LivesSum& freed = lives.freed[i];
    if (freed.samples == 0) continue;
    left.freed_samples += freed.samples;
    left.freed_blocks += freed.blocks;
    squares += freed.blocks * freed.blocks / freed.samples;
    if (static_cast<double>(lifetime_class_begin_ns(i)) >= run) {
      steps[ages.size() - 2].freed_samples += freed.samples;
      steps[ages.size() - 2].freed_blocks += freed.blocks;
      continue;
    }
    for (size_t k = 0; k + 1 < ages.size(); ++k) {
      const double share = share_of_class(i, run, ages[k], ages[k + 1]);
      steps[k].freed_samples += share * freed.samples;
      steps[k].freed_blocks += share * freed.blocks;
    }
  }
  for (uint32_t part = 0; part < kBirthParts; ++part) {
    const LivesSum& living = lives.living[part];
    if (living.samples == 0) continue;
    left.censored_samples += living.samples;
    left.censored_blocks += living.blocks;
    squares += living.blocks * living.blocks / living.samples;
    const double until = lives.oldest_ns(part);
    const double from = lives.youngest_ns(part);
    for (size_t k = 0; k + 1 < ages.size(); ++k) {
      const double low = std::max(ages[k], from);
      const double high = std::min(ages[k + 1], until);
      if (!(low < high)) continue;
      const double share = (high - low) / (until - from);
      steps[k].censored_samples += share * living.samples;
      steps[k].censored_blocks += share * living.blocks;
    }
  }
  living_samples_ = left.censored_samples;
  // Samples of equal weight that say as much, for each sample.
  const double blocks = left.freed_blocks + left.censored_blocks;
  const double samples = left.freed_samples + left.censored_samples;
  const double of_classes =
      squares > 0 && samples > 0 ? std::min(blocks * blocks / (squares * samples), 1.0) : 1;
  const double worth = std::min(of_classes, 1 / lives.spread_of_blocks());

  SurvivalPoint point;
  for (size_t k = 0; k < ages.size(); ++k) {
    point.age_ns = ages[k];
    point.at_risk_samples = std::max(left.freed_samples + left.censored_samples, 0.0);
    points_.push_back(point);
    if (k + 1 == ages.size()) break;
    const Step& step = steps[k];
    const double at_risk = left.freed_blocks + left.censored_blocks - step.censored_blocks / 2;
    const double risked_samples =
        worth * (left.freed_samples + left.censored_samples - step.censored_samples / 2);
    if (at_risk > 0 && step.freed_blocks > 0) {
      const double dying = std::min(step.freed_blocks / at_risk, 1.0);
      point.share = dying > 1 - 1e-9 ? 0 : point.share * (1 - dying);
      if (dying < 1 && risked_samples > 0) point.log_variance += dying / (risked_samples * (1 - dying));
    }
    left.freed_samples -= step.freed_samples;
    left.freed_blocks -= step.freed_blocks;
    left.censored_samples -= step.censored_samples;
    left.censored_blocks -= step.censored_blocks;
  }
}

const SurvivalPoint* SurvivalCurve::end() const {
  constexpr double kFewestSamples = 4;
  constexpr double kFewestShare = 0.02;
  const double fewest = std::max(kFewestSamples, kFewestShare * living_samples_);
  const SurvivalPoint* last = nullptr;
  for (const SurvivalPoint& point : points_) {
    if (point.at_risk_samples >= fewest) last = &point;
  }
  return last;
}

// By the logarithm of the logarithm, which keeps it between 0 and 1.
ShareInterval SurvivalCurve::interval(const SurvivalPoint& point) {
  constexpr double kNormalQuantile = 1.959964;
  if (!(point.share > 0) || point.share >= 1) return {point.share, point.share, point.share};
  const double log_share = std::log(point.share);
  const double width = kNormalQuantile * std::sqrt(point.log_variance) / -log_share;
  return {point.share, std::exp(log_share * std::exp(width)), std::exp(log_share * std::exp(-width))};
}

}  // namespace memprof::profile
