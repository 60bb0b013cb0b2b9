// SPDX-License-Identifier: Apache-2.0
#include "estimate/missed_distribution.h"

#include <algorithm>
#include <utility>

#include "estimate/math.h"

namespace memprof {
namespace {

using Atom = MissedDistribution::Atom;

constexpr size_t kMaxAtoms = 256;
constexpr double kNegligible = 1e-7;  // probability

// Values closer than `min_width` become one atom at their mean; if there are still more than `max`, more
// do.
void merge_atoms(Array<Atom>& atoms, double min_width, size_t max) {
  if (atoms.empty()) {
    return;
  }
  std::sort(atoms.begin(), atoms.end(), [](const Atom& a, const Atom& b) { return a.at < b.at; });
  const double range = atoms.back().at - atoms.front().at;
  double limit = std::max(min_width, 1e-9 * range);  // equal, but for the rounding of sums
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
    atoms.truncate(kept + 1);
    if (atoms.size() <= max) {
      return;
    }
    limit = std::max(2 * limit, range / (2 * static_cast<double>(max)));
  }
}

}  // namespace

MissedCumulants& MissedCumulants::operator+=(const MissedCumulants& other) {
  mean += other.mean;
  variance += other.variance;
  third += other.third;
  return *this;
}

MissedCumulants& MissedCumulants::operator-=(const MissedCumulants& other) {
  mean -= other.mean;
  variance -= other.variance;
  third -= other.third;
  return *this;
}

MissedCumulants MissedGroup::cumulants() const {
  const double q = 1 - probability;
  const double unit = step / probability;
  return {samples * q * unit, samples * q * unit * unit, samples * q * (1 + q) * unit * unit * unit};
}

MissedDistribution::MissedDistribution(const MissedCumulants& rest, bool has_rest)
    : rest_(rest), has_rest_(has_rest) {
  fit_rest();
}

void MissedDistribution::fit_rest() {
  deviation_ = square_root(std::max(rest_.variance, 0.0));
  shape_ = scale_ = shift_ = 0;
  if (rest_.variance > 0 && rest_.third > 0) {
    shape_ = 4 * rest_.variance * rest_.variance * rest_.variance / (rest_.third * rest_.third);
    scale_ = rest_.third / (2 * rest_.variance);
    shift_ = rest_.mean - shape_ * scale_;
  }
}

void MissedDistribution::add_rest(const MissedCumulants& more) {
  if (!has_rest_) rest_ = {};
  rest_ += more;
  has_rest_ = true;
  fit_rest();
}

void MissedDistribution::coarsen(double width) {
  merge_atoms(atoms_, width, kMaxAtoms);
  // The rest smears the atoms, so that its own distribution may be coarser, too.
  normal_shape_ = 20;
}

void MissedDistribution::convolve(const MissedGroup& group) {
  const double q = 1 - group.probability;
  double terms[kMaxAtoms];
  size_t count = 0;
  double term = power(group.probability, group.samples);
  double sum = 0;
  while (count < kMaxAtoms && sum < 1 - kNegligible) {
    const auto k = static_cast<double>(count);
    terms[count++] = term;
    sum += term;
    term *= q * (group.samples + k) / (k + 1);
  }
  if (atoms_.empty()) {
    atoms_.push_back({0, 1});
  }
  Array<Atom> result;
  result.reserve(atoms_.size() * count);
  for (const Atom& atom : atoms_) {
    for (size_t k = 0; k < count; ++k) {
      const double probability = atom.probability * terms[k];
      if (probability > kNegligible * 0.1) {
        result.push_back({atom.at + static_cast<double>(k) * group.step, probability});
      }
    }
  }
  if (atoms_.has_failed()) {
    result.note_failure();
  }
  atoms_ = std::move(result);
  merge_atoms(atoms_, 0, kMaxAtoms);
}

double MissedDistribution::rest_cdf(double x) const {
  if (!(deviation_ > 0)) {
    return x >= rest_.mean ? 1 : 0;
  }
  if (shape_ == 0) {
    return normal_cdf((x - rest_.mean) / deviation_);
  }
  const double standard = (x - shift_) / scale_;
  if (standard <= 0) {
    return 0;
  }
  if (shape_ > normal_shape_) {  // Wilson and Hilferty
    return normal_cdf((cube_root(standard / shape_) - 1 + 1 / (9 * shape_)) * 3 * square_root(shape_));
  }
  return gamma_cdf(shape_, standard);
}

double MissedDistribution::cdf(double x) const {
  if (atoms_.empty()) {
    return has_rest_ ? rest_cdf(x) : x >= 0 ? 1 : 0;
  }
  double sum = 0;
  for (const Atom& atom : atoms_) {
    if (atom.at > x) {
      break;
    }
    sum += atom.probability * (has_rest_ ? rest_cdf(x - atom.at) : 1);
  }
  return sum;
}

// Cells of equal width over all that is not negligible.
Array<Atom> MissedDistribution::rest_cells(size_t max) const {
  Array<Atom> cells;
  if (!(deviation_ > 0)) {
    cells.push_back({rest_.mean, 1});
    return cells;
  }
  // Of a gamma of shape a, what lies beyond a + 7 sqrt(a) + 21 is less than 1e-9.
  const double root = square_root(shape_);
  const double begin =
      shape_ == 0 ? rest_.mean - 7 * deviation_ : shift_ + scale_ * std::max(0.0, shape_ - 7 * root);
  const double end = shape_ == 0 ? rest_.mean + 7 * deviation_ : shift_ + scale_ * (shape_ + 7 * root + 21);
  const double width = (end - begin) / static_cast<double>(max);
  double below = 0;
  for (size_t i = 0; i < max; ++i) {
    const double upper = begin + width * static_cast<double>(i + 1);
    const double up_to = i + 1 == max ? 1 : rest_cdf(upper);
    if (up_to > below) cells.push_back({upper - width / 2, up_to - below});
    below = std::max(below, up_to);
  }
  return cells;
}

Array<Atom> MissedDistribution::cells(size_t max) const {
  if (atoms_.empty()) {
    Array<Atom> cells;
    if (has_rest_) {
      return rest_cells(max);
    }
    cells.push_back({0, 1});
    return cells;
  }
  if (!has_rest_) {
    Array<Atom> cells = atoms_;
    merge_atoms(cells, 0, max);
    return cells;
  }
  // Many atoms blur the rest's cells, which may be fewer then.
  const size_t of_rest = atoms_.size() == 1 ? max : std::max<size_t>(max / 4, 16);
  Array<Atom> cells;
  if (atoms_.has_failed()) {
    cells.note_failure();
  }
  const Array<Atom> rest = rest_cells(of_rest);
  cells.reserve(atoms_.size() * rest.size());
  for (const Atom& atom : atoms_) {
    for (const Atom& cell : rest) {
      cells.push_back({atom.at + cell.at, atom.probability * cell.probability});
    }
  }
  if (atoms_.size() > 1) merge_atoms(cells, 0, max);
  return cells;
}

}  // namespace memprof
