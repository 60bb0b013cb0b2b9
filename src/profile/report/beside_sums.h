// SPDX-License-Identifier: Apache-2.0
// What stands beside a row of a report: the native code that it was allocated through, and the line of the program's own
// that called it.
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "profile/model/estimate.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// What stands beside a row: of all that its stacks have, that which at least half of what it holds belongs to.
template <typename Item>
class BesideSums {
 public:
  void add(uint32_t group, const Item& item, double value) { sums_[group][item] += value; }

  std::optional<Item> of(uint32_t group, double whole) const {
    const auto found = sums_.find(group);
    if (found == sums_.end()) return std::nullopt;
    const auto largest = std::max_element(
        found->second.begin(), found->second.end(),
        [](const auto& a, const auto& b) { return std::abs(a.second) < std::abs(b.second); });
    const double held = std::abs(largest->second);
    return held > 0 && held >= std::abs(whole) / 2 ? std::optional(largest->first) : std::nullopt;
  }

 private:
  std::map<uint32_t, std::map<Item, double>> sums_;
};

struct Beside {
  BesideSums<NativeCallee> callees;
  BesideSums<OwnLine> callers;

  void add(const Stack& stack, uint32_t group, Metric metric, const FrameGrouping& grouping) {
    const double value = estimated_value(stack, metric);
    if (value == 0) return;
    if (grouping.native_callee() != nullptr) callees.add(group, *grouping.native_callee(), value);
    if (const auto caller = grouping.own_caller()) callers.add(group, *caller, value);
  }
};

}  // namespace memprof::profile
