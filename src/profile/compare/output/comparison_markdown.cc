// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/compare/comparison_cells.h"
#include "profile/model/metric.h"
#include "profile/report/report_cells.h"
#include "profile/text/markup/markdown_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string table(const Comparison& comparison, const char* what, const std::vector<ComparisonRow>& rows,
                  size_t max_rows) {
  if (rows.empty()) return "";
  const Metric metric = comparison.metric;
  std::string out = fmt::format(
      "\n**{}** ({} {})\n\n| {} | change | 95 % interval | before | after | p |\n|---|--:|--:|--:|--:|--:|\n",
      what, rows.size(), row_name(comparison.by, rows.size()), group_by_name(comparison.by));
  for (size_t i = 0; i < std::min(rows.size(), max_rows); ++i) {
    const Change& change = rows[i].change;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                       markdown_code(row_text(rows[i].group, rows[i].notes)),
                       signed_text(metric, change.value), interval_text(metric, change),
                       format_metric(metric, change.before.value), format_metric(metric, change.after.value),
                       change.is_tested ? p_text(rows[i].corrected_p) : "?");
  }
  if (rows.size() > max_rows) out += fmt::format("\n{} more.\n", rows.size() - max_rows);
  return out;
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison, const std::vector<LimitResult>& limits,
                                size_t max_rows) {
  std::string out = "### Memory: before and after\n\n";
  for (const LimitResult& limit : limits) {
    out += fmt::format("- {} `{}`: {}\n", limit.is_exceeded ? "**FAIL**" : "pass", limit.text,
                       markdown_plain(limit.what));
  }
  if (!limits.empty()) out += '\n';
  out += "| | before and after |\n|---|---|\n";
  for (const Metric metric : kMetrics) {
    if (!comparison.has_metric[metric_index(metric)]) continue;
    out += fmt::format("| {} | {} |\n", total_title(metric), markdown_plain(total_text(comparison, metric)));
  }
  out += table(comparison, "Grew", comparison.growth, max_rows);
  out += table(comparison, "Shrank", comparison.shrinkage, max_rows);
  out += '\n';
  for (const std::string& warning : comparison.warnings) out += "- " + markdown_plain(warning) + "\n";
  if (!comparison.warnings.empty()) out += '\n';
  if (const std::string others = others_text(comparison); !others.empty()) out += others + "\n\n";
  out +=
      fmt::format("<sub>Before: {}<br>After: {}<br>{}</sub>\n", markdown_plain(side_text(comparison.before)),
                  markdown_plain(side_text(comparison.after)), method_text(comparison));
  return out;
}

}  // namespace memprof::profile
