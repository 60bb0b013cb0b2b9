// SPDX-License-Identifier: Apache-2.0
#include "profile/view/row_notes.h"

#include <algorithm>
#include <cmath>

namespace memprof::profile {
namespace {

template <typename Item>
std::optional<Item> largest(const std::map<Item, double>& sums, double whole) {
  if (sums.empty()) return std::nullopt;
  const auto found = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second) < std::abs(b.second);
  });
  const double held = std::abs(found->second);
  return held > 0 && held >= std::abs(whole) / 2 ? std::optional(found->first) : std::nullopt;
}

}  // namespace

void NoteSums::add(double value, const FrameGrouping& grouping) {
  if (value == 0) return;
  if (grouping.native_callee() != nullptr) through_[*grouping.native_callee()] += value;
  if (const auto caller = grouping.own_caller()) called_by_[*caller] += value;
}

void NoteSums::add(const NoteSums& other) {
  for (const auto& [callee, value] : other.through_) through_[callee] += value;
  for (const auto& [line, value] : other.called_by_) called_by_[line] += value;
}

RowNotes NoteSums::notes(double whole) const {
  return {largest(through_, whole), largest(called_by_, whole)};
}

}  // namespace memprof::profile
