// SPDX-License-Identifier: Apache-2.0
#include "profile/report_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

// Rounded here, and nowhere before.
int64_t rounded(double value) {
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(value, -kMost, kMost));
}

Json estimates(const Report& report, const std::array<Estimate, kMetricCount>& values) {
  Json all = Json::object();
  for (const Metric metric : kMetrics) {
    const size_t i = metric_index(metric);
    Json one = {{"value", nullptr}, {"low", nullptr}, {"high", nullptr}};
    if (report.has_metric[i]) {
      one["value"] = rounded(values[i].value);
      if (report.has_intervals && values[i].has_interval) {
        one["low"] = rounded(values[i].low);
        one["high"] = rounded(values[i].high);
      }
    }
    all[metric_name(metric)] = std::move(one);
  }
  return all;
}

Json known(bool is_known, uint64_t number) {
  return is_known ? Json(number) : Json(nullptr);
}

}  // namespace

std::string report_json(const Report& report) {
  Json json;
  json["program"] = report.program;
  json["pid"] = known(report.pid != 0, report.pid);
  json["rate_bytes"] = report.rate_bytes;
  json["samples"] = known(report.from_memprof, report.samples);
  json["dropped_samples"] = known(report.from_memprof, report.dropped_samples);
  json["totals"] = estimates(report, report.totals);
  json["rows"] = Json::array();
  for (const ReportRow& row : report.rows) {
    json["rows"].push_back({{"name", row.name},
                            {"file", row.file},
                            {"line", row.line},
                            {"module", row.module},
                            {"self", estimates(report, row.self)},
                            {"cumulative", estimates(report, row.cumulative)}});
  }
  // Names come from files and need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace memprof::profile
