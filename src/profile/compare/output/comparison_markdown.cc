// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/compare/comparison_cells.h"
#include "profile/model/metric.h"
#include "profile/report/report_cells.h"
#include "profile/text/text_writer.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

// A name as code in a table's cell: it may have bars and backticks.
std::string code(const std::string& name) {
  std::string text;
  size_t run = 0;
  size_t longest = 0;
  for (const char c : printable(name)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  const std::string ticks(longest + 1, '`');
  return longest == 0 ? ticks + text + ticks : ticks + " " + text + " " + ticks;
}

// Text that is no markup.
std::string plain(const std::string& text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~@";
  std::string result;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string table(const Comparison& comparison, const char* what, const std::vector<ComparisonRow>& rows,
                  size_t max_rows) {
  if (rows.empty()) return "";
  const Metric metric = comparison.metric;
  std::string out = fmt::format(
      "\n**{}** ({} {})\n\n| {} | change | 95 % interval | before | after | p |\n|---|--:|--:|--:|--:|--:|\n",
      what, rows.size(), row_name(comparison.by, rows.size()), group_by_name(comparison.by));
  for (size_t i = 0; i < std::min(rows.size(), max_rows); ++i) {
    const Change& change = rows[i].change;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(row_text(rows[i].group)),
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
                       plain(limit.what));
  }
  if (!limits.empty()) out += '\n';
  out += "| | before and after |\n|---|---|\n";
  for (const Metric metric : kMetrics) {
    if (!comparison.has_metric[metric_index(metric)]) continue;
    out += fmt::format("| {} | {} |\n", metric_title(metric), plain(total_text(comparison, metric)));
  }
  out += table(comparison, "Grew", comparison.growth, max_rows);
  out += table(comparison, "Shrank", comparison.shrinkage, max_rows);
  out += '\n';
  for (const std::string& warning : comparison.warnings) out += "- " + plain(warning) + "\n";
  if (!comparison.warnings.empty()) out += '\n';
  if (const std::string others = others_text(comparison); !others.empty()) out += others + "\n\n";
  out += fmt::format("<sub>Before: {}<br>After: {}<br>{}</sub>\n", plain(side_text(comparison.before)),
                     plain(side_text(comparison.after)), method_text(comparison));
  return out;
}

}  // namespace memprof::profile
