// SPDX-License-Identifier: Apache-2.0
#include "profile/model/metric.h"

#include "format/pprof/pprof_schema.h"

namespace memprof::profile {

const char* metric_name(Metric metric) {
  static_assert(schema::kAllocObjects == 1 && schema::kPeakSpace == schema::kValueCount,
                "names are in the order of Metric");
  if (metric_is_mapped(metric)) {
    return schema::kMappedNames[metric_index(metric) - metric_index(Metric::kMappedObjects)];
  }
  if (metric_is_resident(metric)) {
    return schema::kResidentNames[metric_is_bytes(metric) ? 1 : 0];
  }
  if (metric_is_js(metric)) {
    return metric_is_bytes(metric) ? schema::kJsName : "js_objects";
  }
  if (metric_is_temporary(metric)) {
    return metric_is_bytes(metric) ? "temporary_space" : "temporary_objects";
  }
  return schema::kFixedStrings[schema::kAllocObjects + metric_index(metric)];
}

const char* metric_unit(Metric metric) {
  return schema::kFixedStrings[metric_is_bytes(metric) ? schema::kBytes : schema::kCount];
}

namespace {

std::optional<Metric> metric_from_name(std::string_view name) {
  for (const Metric metric : kMetrics) {
    if (name == metric_name(metric)) {
      return metric;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Metric> metric_from_file(std::string_view name) {
  const std::optional<Metric> metric = metric_from_name(name);
  return metric && !metric_is_temporary(*metric) && *metric != Metric::kJsObjects ? metric : std::nullopt;
}

std::optional<Metric> metric_from_short_name(std::string_view name) {
  if (name == "peak") return Metric::kPeakSpace;
  if (name == "live") return Metric::kInuseSpace;
  if (name == "alloc" || name == "allocated")
    return Metric::kAllocSpace;  // "allocated" as the column is called
  if (name == "mapped") return Metric::kMappedSpace;
  if (name == "mapped_resident") return Metric::kMappedResidentSpace;
  if (name == "resident") return Metric::kResidentSpace;
  if (name == "js") return Metric::kJsSpace;
  if (name == "temporary") return Metric::kTemporarySpace;
  return metric_from_name(name);
}

}  // namespace memprof::profile
