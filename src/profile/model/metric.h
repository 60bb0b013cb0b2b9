// SPDX-License-Identifier: Apache-2.0
// The metrics by the names that pprof knows them by.
//
// Threads: no state.
// Owns: the texts are static.
#pragma once

#include <optional>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

inline constexpr Metric kMetrics[kMetricCount] = {Metric::kAllocObjects, Metric::kAllocSpace,
                                                  Metric::kInuseObjects, Metric::kInuseSpace,
                                                  Metric::kPeakObjects,  Metric::kPeakSpace};

constexpr size_t metric_index(Metric metric) {
  return static_cast<size_t>(metric);
}

// "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space"
const char* metric_name(Metric metric);

// "count" or "bytes"
const char* metric_unit(Metric metric);

constexpr bool metric_is_bytes(Metric metric) {
  return metric == Metric::kAllocSpace || metric == Metric::kInuseSpace || metric == Metric::kPeakSpace;
}

constexpr bool metric_is_live(Metric metric) {
  return metric == Metric::kInuseObjects || metric == Metric::kInuseSpace;
}

constexpr bool metric_is_peak(Metric metric) {
  return metric == Metric::kPeakObjects || metric == Metric::kPeakSpace;
}

// By pprof's name.
std::optional<Metric> metric_from_name(std::string_view name);
// As people say it: also "peak", "live" and "alloc", which are bytes.
std::optional<Metric> metric_from_short_name(std::string_view name);

}  // namespace memprof::profile
