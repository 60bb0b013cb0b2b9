// SPDX-License-Identifier: Apache-2.0
#include "profile/missed_mass.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace memprof::profile {
namespace {

using Cumulants = MissedMass::Cumulants;
using Group = MissedMass::Group;

constexpr double kTail = 0.025;
// How much of a further sample the upper end allows for.  Mid-P has 0.5, with which the coverage falls
// to 93.7 % at some sizes; with 0.7 it stays above 94 %.
constexpr double kExtraShare = 0.7;
// Steps up to this part of the standard deviation cannot be felt.
constexpr double kFineStep = 0.1;
// The same where steps of several lengths blur each other.
constexpr double kFineStepAmongSeveral = 0.2;
constexpr size_t kFewSteps = 2;
constexpr size_t kMostConvolved = 8;
constexpr size_t kMostAtoms = 256;
constexpr double kNegligible = 1e-7;  // probability

// Boost's defaults may throw and use long double; neither is wanted.
using Policy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

// A gamma distribution, shifted so that it has the given mean, variance and third cumulant.
class ShiftedGamma {
 public:
  // From `normal_shape` on, a normal distribution of the cube root stands in for the gamma.
  ShiftedGamma(const Cumulants& c, double normal_shape)
      : mean_(c.mean), deviation_(std::sqrt(std::max(c.variance, 0.0))), normal_shape_(normal_shape) {
    if (c.variance > 0 && c.third > 0) {
      shape_ = 4 * c.variance * c.variance * c.variance / (c.third * c.third);
      scale_ = c.third / (2 * c.variance);
      shift_ = c.mean - shape_ * scale_;
    }
  }

  double cdf(double x) const {
    if (!(deviation_ > 0)) {
      return x >= mean_ ? 1 : 0;
    }
    if (shape_ == 0) {
      return normal_cdf((x - mean_) / deviation_);
    }
    const double standard = (x - shift_) / scale_;
    if (standard <= 0) {
      return 0;
    }
    if (shape_ > normal_shape_) {  // Wilson and Hilferty
      return normal_cdf((std::cbrt(standard / shape_) - 1 + 1 / (9 * shape_)) * 3 * std::sqrt(shape_));
    }
    return boost::math::gamma_p(shape_, standard, Policy());
  }

 private:
  static double normal_cdf(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752); }

  double mean_, deviation_, normal_shape_;
  double shape_ = 0, scale_ = 0, shift_ = 0;
};

struct Atom {
  double at;
  double probability;
};

// Values closer than `least_width` become one atom at their mean; if there are still too many, more do.
void merge_atoms(std::vector<Atom>& atoms, double least_width) {
  std::sort(atoms.begin(), atoms.end(), [](const Atom& a, const Atom& b) { return a.at < b.at; });
  const double range = atoms.back().at - atoms.front().at;
  double limit = std::max(least_width, 1e-9 * range);  // equal, but for the rounding of sums
  for (;;) {
    size_t kept = 0;
    double group_begins = atoms[0].at;
    for (size_t i = 1; i < atoms.size(); ++i) {
      Atom& last = atoms[kept];
      if (atoms[i].at - group_begins <= limit) {
        const double sum = last.probability + atoms[i].probability;
        last.at += (atoms[i].at - last.at) * (atoms[i].probability / sum);
        last.probability = sum;
      } else {
        atoms[++kept] = atoms[i];
        group_begins = atoms[i].at;
      }
    }
    atoms.resize(kept + 1);
    if (atoms.size() <= kMostAtoms) {
      return;
    }
    limit = std::max(2 * limit, range / (2 * kMostAtoms));
  }
}

// Convolves with step * NegativeBinomial(samples, probability).
void convolve(std::vector<Atom>& atoms, const Group& group) {
  const double q = 1 - group.probability;
  std::vector<double> terms;
  double term = std::pow(group.probability, group.samples);
  double sum = 0;
  for (double k = 0; terms.size() < kMostAtoms && sum < 1 - kNegligible; ++k) {
    terms.push_back(term);
    sum += term;
    term *= q * (group.samples + k) / (k + 1);
  }
  std::vector<Atom> result;
  result.reserve(atoms.size() * terms.size());
  for (const Atom& atom : atoms) {
    for (size_t k = 0; k < terms.size(); ++k) {
      const double probability = atom.probability * terms[k];
      if (probability > kNegligible * 0.1) {
        result.push_back({atom.at + static_cast<double>(k) * group.step, probability});
      }
    }
  }
  atoms = std::move(result);
  merge_atoms(atoms, 0);
}

// Atoms plus an independent continuous rest.
struct Distribution {
  std::vector<Atom> atoms;
  ShiftedGamma rest;
  bool has_rest;

  double cdf(double x) const {
    double sum = 0;
    for (const Atom& atom : atoms) {
      if (atom.at > x) {
        break;
      }
      sum += atom.probability * (has_rest ? rest.cdf(x - atom.at) : 1);
    }
    return sum;
  }
};

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
  return std::abs(a - b) <= 1e-9 * std::max(a, b);
}

// Puts groups of the same blocks together.
void merge_groups(std::vector<Group>& groups) {
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
    groups.resize(kept + 1);
  }
}

void drop_fine_steps(std::vector<Group>& groups, double fine) {
  groups.erase(
      std::remove_if(groups.begin(), groups.end(), [fine](const Group& group) { return group.step <= fine; }),
      groups.end());
}

}  // namespace

Cumulants& Cumulants::operator+=(const Cumulants& other) {
  mean += other.mean;
  variance += other.variance;
  third += other.third;
  return *this;
}

Cumulants& Cumulants::operator-=(const Cumulants& other) {
  mean -= other.mean;
  variance -= other.variance;
  third -= other.third;
  return *this;
}

Cumulants Group::cumulants() const {
  const double q = 1 - probability;
  const double unit = step / probability;
  return {samples * q * unit, samples * q * unit * unit, samples * q * (1 + q) * unit * unit * unit};
}

void MissedMass::add(double step, double probability, double samples) {
  const double q = 1 - probability;
  const double hazard = -std::log(q) * samples;  // infinite where nothing can be missed
  certain_hazard_ += hazard;
  if (!(q > 0) || !(step > 0)) {
    return;
  }
  const double mean = step * q / probability;
  cumulants_ += Group{step, probability, samples}.cumulants();
  missed_hazard_ += hazard * mean / step;
  if (mean > largest_mean_) {
    largest_mean_ = mean;
    largest_step_ = step;
  }
  groups_.push_back({step, probability, samples});
  if (groups_.size() >= compact_at_) {
    compact();
  }
}

void MissedMass::add_continuous(double mean, double variance, double largest_mean) {
  if (!(mean > 0) || !(variance > 0)) {
    return;
  }
  const double scale = variance / mean;
  cumulants_ += {mean, variance, 2 * variance * scale};
  missed_hazard_ += mean / scale;
  certain_hazard_ = HUGE_VAL;  // unknown, so no allowance for sites that show by chance
  if (largest_mean > largest_mean_) {
    largest_mean_ = largest_mean;
    largest_step_ = 0;
  }
}

void MissedMass::add(const MissedMass& other) {
  cumulants_ += other.cumulants_;
  certain_hazard_ += other.certain_hazard_;
  missed_hazard_ += other.missed_hazard_;
  if (other.largest_mean_ > largest_mean_) {
    largest_mean_ = other.largest_mean_;
    largest_step_ = other.largest_step_;
  }
  groups_.insert(groups_.end(), other.groups_.begin(), other.groups_.end());
  if (groups_.size() >= compact_at_) {
    compact();
  }
}

// The standard deviation only grows, so a step that is fine now stays fine.
void MissedMass::compact() {
  merge_groups(groups_);
  drop_fine_steps(groups_, kFineStep * std::sqrt(cumulants_.variance));
  compact_at_ = std::max<size_t>(16, 2 * groups_.size());
}

MissedMass::Interval MissedMass::interval() const {
  if (!(cumulants_.variance > 0)) {
    return {};
  }
  const double deviation = std::sqrt(cumulants_.variance);
  double fine = kFineStep * deviation;
  std::vector<Group> felt = groups_;
  merge_groups(felt);
  drop_fine_steps(felt, fine);
  if (felt.size() > kFewSteps) {
    fine = kFineStepAmongSeveral * deviation;
    drop_fine_steps(felt, fine);
  }
  if (felt.size() > kMostConvolved) {
    std::nth_element(
        felt.begin(), felt.begin() + kMostConvolved, felt.end(),
        [](const Group& a, const Group& b) { return a.cumulants().variance > b.cumulants().variance; });
    felt.resize(kMostConvolved);
  }
  Cumulants rest = cumulants_;
  std::vector<Atom> atoms = {{0, 1}};
  for (const Group& group : felt) {
    rest -= group.cumulants();
    convolve(atoms, group);
  }
  const bool has_rest = felt.empty() || rest.variance > 1e-9 * cumulants_.variance;
  // The rest smears the atoms, so that they may be fewer and its own distribution coarser.
  const bool is_mixed = has_rest && !felt.empty();
  const double normal_shape = is_mixed ? 20 : 200;
  if (is_mixed) {
    merge_atoms(atoms, kFineStep * deviation);
  }
  const Distribution missed{atoms, ShiftedGamma(rest, normal_shape), has_rest};

  // The same with one more sample, of the kind behind which most can hide.
  Distribution with_extra = missed;
  const double extra_step = largest_step_;
  const double extra_probability = extra_step / (extra_step + largest_mean_);
  if (extra_step > fine) {
    convolve(with_extra.atoms, {extra_step, extra_probability, 1});
  } else {
    Cumulants more = has_rest ? rest : Cumulants{};
    if (extra_step > 0) {
      more += Group{extra_step, extra_probability, 1}.cumulants();
    } else {
      more +=
          {largest_mean_, largest_mean_ * largest_mean_, 2 * largest_mean_ * largest_mean_ * largest_mean_};
    }
    with_extra.rest = ShiftedGamma(more, normal_shape);
    with_extra.has_rest = true;
  }

  const double tolerance = (has_rest ? 1e-4 : 1e-7) * deviation;
  const double hazard = missed_hazard_ / cumulants_.mean;
  const Bracket low = find_crossing(
      [&](double x) { return missed.cdf(x) - kTail * -std::expm1(-certain_hazard_ - hazard * x); }, 0,
      cumulants_.mean, tolerance);
  const Bracket high = find_crossing(
      [&](double x) {
        return (1 - kExtraShare) * missed.cdf(x) + kExtraShare * with_extra.cdf(x) - (1 - kTail);
      },
      0, cumulants_.mean + 2 * deviation + largest_mean_, tolerance);
  return {low.below, high.above};
}

}  // namespace memprof::profile
