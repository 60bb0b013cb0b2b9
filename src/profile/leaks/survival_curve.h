// SPDX-License-Identifier: Apache-2.0
// Which share of the blocks of a place lives longer than a time: the estimator of Kaplan and Meier for times that
// are known by classes.
//
// Model: a block that was freed ends at its lifetime; one that lives is censored at its age.  Between the bounds of
// classes and of sixteenths of the run, lifetimes are taken as even on the logarithm of a class, and ages as even in
// their sixteenth; who is censored within a step counts half in it.  The variance is Greenwood's, with the number of
// samples of equal weight that say as much as those that are there, so it counts samples, and not bytes.
//
// Threads: plain values.
#pragma once

#include <vector>

#include "profile/leaks/site_lives.h"

namespace memprof::profile {

struct SurvivalPoint {
  double age_ns = 0;
  double share = 1;            // that lives longer
  double log_variance = 0;     // of the logarithm of `share`
  double at_risk_samples = 0;  // that reached this age
};

struct ShareInterval {
  double share = 0;
  double low = 0;
  double high = 0;
};

class SurvivalCurve {
 public:
  explicit SurvivalCurve(const SiteLives& lives);

  // Ascending by age, from 0 to the length of the run.
  const std::vector<SurvivalPoint>& points() const { return points_; }

  // The last point that enough samples reach to believe what it says; nullptr: none.
  const SurvivalPoint* end() const;

  // The point at an age that is a bound of a sixteenth of the run.
  const SurvivalPoint& at_part(uint32_t part) const { return points_[of_part_[part]]; }

  // With 95 %.
  static ShareInterval interval(const SurvivalPoint& point);

 private:
  std::vector<SurvivalPoint> points_;
  std::array<size_t, kBirthParts + 1> of_part_{};
  double living_samples_ = 0;
};

}  // namespace memprof::profile
