// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_values.h"

#include <string>
#include <utility>

#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

// The value stands under its column's name, the ends behind it.
constexpr std::pair<const char*, const char*> kEnds[] = {
    {"", "/value"}, {"_low", "/low"}, {"_high", "/high"}};

}  // namespace

Json interval_value(double value, double low, double high, bool has_interval) {
  return {{"value", json_rounded(value)},
          {"low", has_interval ? Json(json_rounded(low)) : Json(nullptr)},
          {"high", has_interval ? Json(json_rounded(high)) : Json(nullptr)}};
}

Json estimate_value(const Estimate& one) {
  return interval_value(one.value, one.low, one.high, one.has_interval);
}

Json estimate_value(const Report& report, const Estimate& one) {
  return interval_value(one.value, one.low, one.high, report.has_intervals && one.has_interval);
}

Json estimate_values(const Report& report, const std::array<Estimate, kMetricCount>& values) {
  Json all = Json::object();
  for (const Metric metric : kMetrics) {
    const size_t i = metric_index(metric);
    if (report.has_metric[i]) {
      all[metric_name(metric)] = estimate_value(report, values[i]);
    } else if (!metric_is_optional(metric)) {
      all[metric_name(metric)] = {{"value", nullptr}, {"low", nullptr}, {"high", nullptr}};
    }
  }
  return all;
}

std::vector<CsvField> estimate_fields() {
  std::vector<CsvField> fields;
  for (const auto& [suffix, at] : kEnds) fields.push_back({suffix, at});
  return fields;
}

std::vector<CsvField> estimates_fields(const Report& report) {
  std::vector<CsvField> fields;
  for (const Metric metric : kMetrics) {
    if (!report.has_metric[metric_index(metric)]) continue;
    const std::string name = metric_name(metric);
    for (const auto& [suffix, at] : kEnds) {
      fields.push_back(
          {std::string("_").append(name).append(suffix), std::string("/").append(name).append(at)});
    }
  }
  return fields;
}

}  // namespace memprof::profile
