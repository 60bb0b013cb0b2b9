// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_changes.h"

#include <algorithm>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxIntervals = 200;  // they take their time

Json rows_of(const Comparison& comparison) {
  Json rows = Json::array();
  for (const auto* list : {&comparison.growth, &comparison.shrinkage}) {
    size_t known = 0;
    for (const ComparisonRow& row : *list) {
      const bool has_interval = comparison.is_tested && known++ < kMaxIntervals;
      rows.push_back({{"name", row.group.name},
                      {"file", row.group.file},
                      {"module", row.group.module},
                      {"low", has_interval ? Json(row.change.low) : Json(nullptr)},
                      {"high", has_interval ? Json(row.change.high) : Json(nullptr)}});
    }
  }
  return rows;
}

}  // namespace

Json page_changes(const std::vector<ComparedProfile>& before, const std::vector<ComparedProfile>& after) {
  Json changes = Json::object();
  for (const Metric metric : kMetrics) {
    if (metric_is_optional(metric)) continue;  // the page does not show it
    const auto has_it = [metric](const ComparedProfile& one) {
      return one.profile.has_metric[metric_index(metric)];
    };
    if (!std::all_of(before.begin(), before.end(), has_it) ||
        !std::all_of(after.begin(), after.end(), has_it)) {
      continue;
    }
    ComparisonOptions options;
    options.metric = metric;
    options.max_intervals = kMaxIntervals;
    const Comparison comparison = compare(before, after, options);
    changes[metric_name(metric)] = {{"is_tested", comparison.is_tested}, {"rows", rows_of(comparison)}};
  }
  return changes;
}

}  // namespace memprof::profile
