// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_limits.h"

#include <fmt/format.h>

#include <cmath>

#include "profile/compare/comparison_cells.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/significance/benjamini_hochberg.h"

namespace memprof::profile {
namespace {

constexpr char kHow[] =
    "it is written WHAT > AMOUNT, like \"growth > 5MB\" or \"alloc > 10%\"; WHAT is growth, peak, live, "
    "alloc, row, or the name of a metric";

bool is_over(const Limit& limit, const Change& change) {
  // Percent of nothing: everything is more.
  const double max = limit.is_percent ? limit.amount / 100 * std::abs(change.before.value) : limit.amount;
  return is_over_limit(limit, change.value, max);
}

std::string described(const Comparison& comparison, Metric metric) {
  return fmt::format("{} {}", metric_name(metric), total_text(comparison, metric));
}

}  // namespace

Limit parse_limit(const std::string& text) {
  Limit limit{parse_limit_text(text, LimitPercent::kAllowed, kHow), false, {}};
  limit.is_of_rows = limit.what == "row";
  if (limit.is_of_rows || limit.what == "growth") return limit;
  limit.metric = metric_from_short_name(limit.what);
  if (!limit.metric) refuse_limit(text, "'" + limit.what + "' is nothing that can grow", kHow);
  return limit;
}

std::vector<LimitResult> check_limits(const Comparison& comparison, const std::vector<Limit>& limits) {
  std::vector<double> p_values;
  for (const Limit& limit : limits) {
    const Metric metric = limit.metric.value_or(comparison.metric);
    if (!comparison.has_metric[metric_index(metric)]) {
      throw Error(fmt::format("'{}': not all of the files have {}", limit.text, metric_name(metric)));
    }
    if (!comparison.totals[metric_index(metric)].is_tested) {
      throw Error(
          fmt::format("'{}': whether a change is more than chance is not known of files that memprof did "
                      "not write; give several files a side (--before A B C --after D E F)",
                      limit.text));
    }
    p_values.push_back(limit.is_of_rows ? 0 : comparison.totals[metric_index(metric)].p_value);
  }
  const std::vector<double> corrected = benjamini_hochberg(p_values);
  std::vector<LimitResult> results;
  for (size_t i = 0; i < limits.size(); ++i) {
    const Limit& limit = limits[i];
    LimitResult result{limit.text, false, ""};
    if (limit.is_of_rows) {
      size_t count = 0;
      for (const ComparisonRow& row : comparison.growth) {
        if (!row.is_significant || !is_over(limit, row.change)) continue;
        if (count++ == 0) {
          result.what = fmt::format("{} grew by {} (95 %: {})", row_text(row.group),
                                    signed_text(comparison.metric, row.change.value),
                                    interval_text(comparison.metric, row.change));
        }
      }
      result.is_exceeded = count != 0;
      if (count > 1) result.what += fmt::format(", and {} more", count - 1);
      if (count == 0) result.what = "no row grew so much significantly";
      results.push_back(std::move(result));
      continue;
    }
    const Metric metric = limit.metric.value_or(comparison.metric);
    const Change& change = comparison.totals[metric_index(metric)];
    result.what = described(comparison, metric);
    result.is_exceeded = is_over(limit, change) && corrected[i] <= kSignificance;
    if (is_over(limit, change) && !result.is_exceeded) result.what += ": more, but it may be chance";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace memprof::profile
