// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_html.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "profile/compare/comparison_cells.h"
#include "profile/compare/output/comparison_columns.h"
#include "profile/compare/output/comparison_text.h"
#include "profile/files/base64.h"
#include "profile/files/gzip.h"
#include "profile/page/page_changes.h"
#include "profile/page/page_data.h"
#include "profile/page/page_sources.h"
#include "profile/page/page_template.h"
#include "profile/report/output/report_header.h"
#include "profile/report/report.h"
#include "profile/report/report_cells.h"
#include "profile/text/markup/html_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kStaticRows = 50;

// What stands in the built page for what a file has of its own.
constexpr std::string_view kTitleMark = "<!--memprof:title-->";
constexpr std::string_view kTableMark = "<!--memprof:table-->";
constexpr std::string_view kDataMark = "<!--memprof:data-->";

// The policy of the built page, as far as it begins; and what a page that asks its server adds to it.
constexpr std::string_view kNothingElse = "content=\"default-src 'none'; ";
constexpr std::string_view kItsServer = "connect-src 'self'; ";

std::string fill(const std::string& title, const std::string& table, const std::string& data) {
  const std::string_view page(reinterpret_cast<const char*>(kPageTemplate), kPageTemplateSize);
  const std::pair<std::string_view, std::string> parts[] = {
      {kTitleMark, html_text(title)}, {kTableMark, table}, {kDataMark, base64(gzip(data))}};
  std::string out;
  size_t at = 0;
  // The marks are in this order, each once: tests/checks/page.py.
  for (const auto& [mark, text] : parts) {
    const size_t found = page.find(mark, at);
    out.append(page.substr(at, found - at)).append(text);
    at = found + mark.size();
  }
  return out.append(page.substr(at));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string cell(const char* tag, const std::string& text) {
  return std::string("<") + tag + ">" + html_text(text) + "</" + tag + ">";
}

std::string paragraphs(const std::vector<std::string>& facts) {
  std::string out;
  for (const std::string& fact : facts) out += cell("p", fact) + "\n";
  return out;
}

std::string cells(const char* tag, const std::vector<std::string>& texts) {
  std::string out = "<tr>";
  for (const std::string& text : texts) out += cell(tag, text);
  return out + "</tr>";
}

// The beginning of a table, whose rows and end follow.
std::string table_head(const std::string& caption, const std::vector<std::string>& titles) {
  return "<table>" + cell("caption", caption) + "\n<thead>" + cells("th", titles) + "</thead>\n<tbody>\n";
}

constexpr const char* kTableEnd = "</tbody></table>\n";

std::string static_table(const Report& report, const std::vector<std::string>& facts) {
  std::string out =
      paragraphs(facts) + table_head("The largest by " + std::string(metric_name(report.metric)),
                                     {"self", "cumulative", "function", "file"});
  const size_t metric = metric_index(report.metric);
  for (const ReportRow& row : report.rows) {
    out += cells("td", {format_metric(report.metric, row.self[metric].value),
                        format_metric(report.metric, row.cumulative[metric].value), row.name,
                        place_cell(row.name, row.file, row.line, row.module)}) +
           "\n";
  }
  return out + kTableEnd;
}

// Rows that grew, or that shrank; nothing where there are none.
std::string change_table(const Comparison& comparison, const std::string& what,
                         const std::vector<ComparisonRow>& rows) {
  if (rows.empty()) return {};
  const size_t shown = std::min(rows.size(), kStaticRows);
  std::string caption = what + " by " + std::string(metric_name(comparison.metric));
  if (shown < rows.size()) {
    caption += ": the largest " + std::to_string(shown) + " of " + std::to_string(rows.size());
  }
  const std::vector<Column<ComparisonRow>> columns = comparison_columns(comparison);
  std::vector<std::string> titles = column_titles(columns);
  titles.insert(titles.end(), {"function", "file"});
  std::string out = table_head(caption, titles);
  for (size_t i = 0; i < shown; ++i) {
    const FrameGroup& group = rows[i].group;
    std::vector<std::string> row = column_cells(columns, rows[i]);
    row.push_back(group.name);
    row.push_back(place_cell(group.name, group.file, group.line, group.module));
    out += cells("td", row) + "\n";
  }
  return out + kTableEnd;
}

Report static_report(const Profile& profile, std::optional<Metric> metric) {
  ReportOptions options;
  options.metric = metric.value_or(default_metric(profile));
  options.max_rows = kStaticRows;
  options.skip_empty = true;
  return build_report(profile, options);
}

std::vector<std::string> header_lines(const Report& report) {
  TextWriter writer{TextOptions()};
  write_header(report, &writer);
  return lines_of(writer.take());
}

// Of a process at a moment.
PageSubject look_subject(const Profile& profile, const std::string& name) {
  ReportOptions options;
  options.metric = Metric::kInuseSpace;
  options.has_table = false;
  PageSubject subject;
  subject.metric = options.metric;
  subject.title = name;
  subject.facts = header_lines(build_report(profile, options));
  return subject;
}

ComparisonOptions change_options(std::optional<Metric> metric) {
  ComparisonOptions options;
  options.metric = metric;
  options.max_intervals = kStaticRows;
  return options;
}

PageSubject change_subject(const std::vector<ComparedProfile>& before,
                           const std::vector<ComparedProfile>& after, const Comparison& comparison) {
  PageSubject subject;
  subject.title = before[0].name + " to " + after[0].name;
  subject.metric = comparison.metric;
  subject.changes = page_changes(before, after);
  subject.facts = lines_of(comparison_summary(comparison));
  return subject;
}

}  // namespace

std::string write_page(const Profile& profile, const std::string& name, const PageOptions& options) {
  const Report report = static_report(profile, options.metric);
  PageSubject subject;
  subject.live = options.live;
  subject.title = name;
  subject.facts = header_lines(report);
  subject.metric = options.metric;
  subject.source_address = options.source_address;
  if (options.sources) subject.sources = read_sources(profile, *options.sources);
  std::string page = fill(name, static_table(report, subject.facts), write_page_data({&profile}, subject));
  if (!options.live.is_null() || !options.source_address.empty()) {
    page.insert(page.find(kNothingElse) + kNothingElse.size(), kItsServer);
  }
  return page;
}

nlohmann::ordered_json live_page_facts(const Profile& profile, const std::string& name,
                                       const nlohmann::ordered_json& live) {
  PageSubject subject = look_subject(profile, name);
  subject.live = live;
  return page_facts({&profile}, subject);
}

std::string write_page_block(const Profile& profile, const std::string& name) {
  return write_page_data({&profile}, look_subject(profile, name));
}

std::string write_change_block(const std::vector<ComparedProfile>& before,
                               const std::vector<ComparedProfile>& after) {
  return write_page_data(
      {&before[0].profile, &after[0].profile},
      change_subject(before, after, compare(before, after, change_options(Metric::kInuseSpace))));
}

std::string write_change_page(const std::vector<ComparedProfile>& before,
                              const std::vector<ComparedProfile>& after, std::optional<Metric> metric) {
  const Comparison comparison = compare(before, after, change_options(metric));
  const PageSubject subject = change_subject(before, after, comparison);
  const std::string tables = paragraphs(subject.facts) + change_table(comparison, "Grew", comparison.growth) +
                             change_table(comparison, "Shrank", comparison.shrinkage);
  return fill(subject.title, tables, write_page_data({&before[0].profile, &after[0].profile}, subject));
}

}  // namespace memprof::profile
