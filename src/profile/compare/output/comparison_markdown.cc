// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/compare/comparison_cells.h"
#include "profile/compare/output/comparison_columns.h"
#include "profile/model/metric.h"
#include "profile/text/markup/markdown_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string table(const Comparison& comparison, const char* what, const std::vector<ComparisonRow>& rows,
                  size_t max_rows) {
  if (rows.empty()) return "";
  const std::vector<Column<ComparisonRow>> columns = comparison_columns(comparison);
  std::string titles;
  std::string alignment;
  for (const std::string& title : column_titles(columns)) {
    titles += fmt::format(" {} |", title);
    alignment += "--:|";
  }
  std::string out =
      fmt::format("\n**{}** ({} {})\n\n| {} |{}\n|---|{}\n", what, rows.size(),
                  row_name(comparison.by, rows.size()), group_by_name(comparison.by), titles, alignment);
  for (size_t i = 0; i < std::min(rows.size(), max_rows); ++i) {
    out += fmt::format("| {} |", markdown_code(row_text(rows[i].group, rows[i].notes)));
    for (const std::string& cell : column_cells(columns, rows[i])) out += fmt::format(" {} |", cell);
    out += '\n';
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
