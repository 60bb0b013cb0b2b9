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

inline constexpr Metric kMetrics[kMetricCount] = {
    Metric::kAllocObjects,        Metric::kAllocSpace,      Metric::kInuseObjects,
    Metric::kInuseSpace,          Metric::kPeakObjects,     Metric::kPeakSpace,
    Metric::kMappedObjects,       Metric::kMappedSpace,     Metric::kMappedResidentObjects,
    Metric::kMappedResidentSpace, Metric::kResidentObjects, Metric::kResidentSpace,
    Metric::kJsObjects,           Metric::kJsSpace,         Metric::kTemporaryObjects,
    Metric::kTemporarySpace};

constexpr size_t metric_index(Metric metric) {
  return static_cast<size_t>(metric);
}

// "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space",
// "mapped_objects", "mapped_space", "mapped_resident_objects", "mapped_resident_space",
// "inuse_resident_objects", "inuse_resident_space", "js_objects", "js_space", "temporary_objects", "temporary_space"
const char* metric_name(Metric metric);

// "count" or "bytes"
const char* metric_unit(Metric metric);

constexpr bool metric_is_bytes(Metric metric) {
  return metric_index(metric) % 2 == 1;
}

constexpr bool metric_is_live(Metric metric) {
  return metric == Metric::kInuseObjects || metric == Metric::kInuseSpace;
}

constexpr bool metric_is_peak(Metric metric) {
  return metric == Metric::kPeakObjects || metric == Metric::kPeakSpace;
}

// Of the program's own mappings: exact.
constexpr bool metric_is_mapped(Metric metric) {
  return metric >= Metric::kMappedObjects && metric <= Metric::kMappedResidentSpace;
}

// Of live blocks what is in memory.
constexpr bool metric_is_resident(Metric metric) {
  return metric == Metric::kResidentObjects || metric == Metric::kResidentSpace;
}

constexpr bool metric_is_js(Metric metric) {
  return metric == Metric::kJsObjects || metric == Metric::kJsSpace;
}

// Of memory that no sum of blocks has a part of; taken as it is told, without an interval.
constexpr bool metric_is_apart(Metric metric) {
  return metric_is_mapped(metric) || metric_is_js(metric);
}

// Not of every profile of memprof: computed, or recorded only where it is asked for.
constexpr bool metric_is_optional(Metric metric) {
  return metric_index(metric) >= metric_index(Metric::kMappedObjects);
}

constexpr bool metric_is_temporary(Metric metric) {
  return metric == Metric::kTemporaryObjects || metric == Metric::kTemporarySpace;
}

// By the name of a file's sample type.
std::optional<Metric> metric_from_file(std::string_view name);
// As people say it: also "peak", "live", "alloc", "mapped", "mapped_resident", "resident", "js" and
// "temporary", which are bytes.
std::optional<Metric> metric_from_short_name(std::string_view name);

}  // namespace memprof::profile
