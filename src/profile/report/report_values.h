// SPDX-License-Identifier: Apache-2.0
// Estimates of a report for programs: value and both ends of the interval; null is what is not known.
//
// Threads: no state.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "profile/report/report.h"
#include "profile/text/columns.h"

namespace memprof::profile {

nlohmann::ordered_json interval_value(double value, double low, double high, bool has_interval);
nlohmann::ordered_json estimate_value(const Estimate& one);
// Without its interval where the report has none.
nlohmann::ordered_json estimate_value(const Report& report, const Estimate& one);

// By the names of the metrics.
nlohmann::ordered_json estimate_values(const Report& report,
                                       const std::array<Estimate, kMetricCount>& values);

// In CSV: a field each, the ends empty where they are not known.
std::vector<CsvField> estimate_fields();
// Of those metrics that the report has.
std::vector<CsvField> estimates_fields(const Report& report);

}  // namespace memprof::profile
