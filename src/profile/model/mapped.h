// SPDX-License-Identifier: Apache-2.0
// The program's own mappings, and the heap of the language's runtime, in a profile: values of their own, which no sum of blocks has a
// part of.
//
// Threads: plain values.
#pragma once

#include <array>

#include "profile/model/metric.h"
#include "profile/model/model.h"

namespace memprof::profile {

inline bool has_mapped_values(const std::array<double, kMetricCount>& values) {
  return values[metric_index(Metric::kMappedObjects)] != 0 || values[metric_index(Metric::kMappedSpace)] != 0;
}

inline bool has_js_values(const std::array<double, kMetricCount>& values) {
  return values[metric_index(Metric::kJsSpace)] != 0;
}

inline bool has_other_values(const std::array<double, kMetricCount>& values) {
  for (const Metric metric : kMetrics) {
    if (!metric_is_apart(metric) && values[metric_index(metric)] != 0) return true;
  }
  return false;
}

// A stack that mapped memory, or holds objects in the runtime's heap, and of which there is nothing else.
inline bool is_only_apart(const Stack& stack) {
  return (has_mapped_values(stack.values) || has_js_values(stack.values)) &&
         !has_other_values(stack.values) && stack.live.empty() && stack.allocated.samples == 0 &&
         stack.freed.samples == 0;
}

}  // namespace memprof::profile
