// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_columns.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "profile/report/report_cells.h"
#include "profile/text/bar.h"
#include "profile/text/text_table.h"

namespace memprof::profile {
namespace {

constexpr double kLargeShare = 0.1;

// When a column is left out of a narrower terminal: 1 first.
constexpr int kNever = 0;
constexpr int kLast = 100;  // on a tiny one only

template <typename Row>
struct Column {
  std::string title;
  int left_out;
  std::function<std::string(const Row&)> cell;
  std::function<Tone(const Row&)> tone{};  // else plain
};

// A table of one line for each row; `fill` adds names and places to titles (no row) and lines.
template <typename Row, typename Fill>
void write_columns(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows,
                   std::vector<std::pair<std::string, size_t>> groups, const Fill& fill, TextWriter* writer) {
  TextRow titles;
  for (const Column<Row>& column : columns) titles.numbers.push_back(column.title);
  fill(nullptr, &titles);
  TextTable table(std::move(titles), std::move(groups));
  std::vector<size_t> left_out;
  std::vector<size_t> last;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].left_out != kNever) (columns[i].left_out == kLast ? last : left_out).push_back(i);
  }
  std::sort(left_out.begin(), left_out.end(),
            [&](size_t a, size_t b) { return columns[a].left_out < columns[b].left_out; });
  table.set_optional(std::move(left_out), std::move(last));
  for (const Row& row : rows) {
    TextRow line;
    for (const Column<Row>& column : columns) {
      line.numbers.push_back(column.cell(row));
      line.tones.push_back(column.tone ? column.tone(row) : Tone::kPlain);
    }
    fill(&row, &line);
    table.add(std::move(line));
  }
  table.write(writer);
}

std::vector<Column<ReportRow>> self_columns(const Report& report, const TextWriter& writer) {
  const Metric metric = report.metric;
  const size_t at = metric_index(metric);
  const double whole = report.totals[at].value;
  const auto others = companion_titles(metric);
  const bool has_utf8 = writer.options().has_utf8;
  const auto share = [=](const ReportRow& row) { return whole > 0 ? row.self[at].value / whole : 0; };
  const auto tone = [=](const ReportRow& row) {
    return share(row) >= kLargeShare ? Tone::kStrong : Tone::kPlain;
  };
  std::vector<Column<ReportRow>> columns;
  columns.push_back({metric_title(metric), kNever,
                     [&report, metric](const ReportRow& row) { return value_cell(report, metric, row.self); },
                     tone});
  columns.push_back({writer.signs().plus_minus, 4,
                     [&report, at](const ReportRow& row) { return plus_minus_cell(report, row.self[at]); },
                     [](const ReportRow&) { return Tone::kFaint; }});
  columns.push_back(
      {"%", kLast, [=](const ReportRow& row) { return percent_cell(row.self[at].value, whole); }, tone});
  if (writer.options().has_bars) {
    columns.push_back({"", 1, [=](const ReportRow& row) { return bar_cell(share(row), has_utf8); },
                       [](const ReportRow&) { return Tone::kBar; }});
  }
  columns.push_back(
      {others[0], 3, [&report](const ReportRow& row) { return companion_cells(report, row.self)[0]; }});
  columns.push_back(
      {others[1], 2, [&report](const ReportRow& row) { return companion_cells(report, row.self)[1]; }});
  return columns;
}

std::vector<Column<ReportRow>> cumulative_columns(const Report& report) {
  const Metric metric = report.metric;
  const size_t at = metric_index(metric);
  const double whole = report.totals[at].value;
  return {
      {metric_title(metric), kNever,
       [&report, metric](const ReportRow& row) { return value_cell(report, metric, row.cumulative); }},
      {"%", kNever, [=](const ReportRow& row) { return percent_cell(row.cumulative[at].value, whole); }},
  };
}

std::vector<Column<EdgeRow>> edge_columns(const Report& report, const CallEdges& edges,
                                          const TextWriter& writer) {
  const Metric metric = report.metric;
  const size_t at = metric_index(metric);
  const double whole = report.totals[at].value;
  const double of_it = edges.cumulative[at].value;
  const auto others = companion_titles(metric);
  return {
      {metric_title(metric), kNever,
       [&report, metric](const EdgeRow& row) { return value_cell(report, metric, row.values); }},
      {writer.signs().plus_minus, 2,
       [&report, at](const EdgeRow& row) { return plus_minus_cell(report, row.values[at]); }},
      {"%", kNever, [=](const EdgeRow& row) { return percent_cell(row.values[at].value, whole); }},
      {"of it", kLast, [=](const EdgeRow& row) { return percent_cell(row.values[at].value, of_it); }},
      {others[0], 3, [&report](const EdgeRow& row) { return companion_cells(report, row.values)[0]; }},
      {others[1], 1, [&report](const EdgeRow& row) { return companion_cells(report, row.values)[1]; }},
  };
}

}  // namespace

bool has_places(const Report& report) {
  return report.by == GroupBy::kFunction || report.by == GroupBy::kLine || report.by == GroupBy::kThread;
}

void write_rows(const Report& report, TextWriter* writer) {
  const bool has_files = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const ReportRow& row) { return !row.file.empty(); });
  std::vector<Column<ReportRow>> columns = self_columns(report, *writer);
  const size_t self = columns.size();
  for (Column<ReportRow>& column : cumulative_columns(report)) columns.push_back(std::move(column));
  const auto fill = [&](const ReportRow* row, TextRow* line) {
    if (row == nullptr) {
      line->name_text = group_by_name(report.by);
      if (has_places(report)) line->place = has_files ? "file:line" : "module";
      return;
    }
    line->names = {printable(row->name)};
    for (const std::string& note : note_cells(row->notes)) line->notes.push_back(printable(note));
    if (has_places(report)) {
      line->place = printable(place_cell(row->name, row->file, row->line, row->module));
    }
  };
  write_columns(columns, report.rows, {{"self", self}, {"cumulative", columns.size() - self}}, fill, writer);
}

void write_edges(const Report& report, const CallEdges& edges, TextWriter* writer) {
  const auto fill = [&](const EdgeRow* row, TextRow* line) {
    if (row == nullptr) {
      line->name_text = edges.direction == Direction::kCallers ? "caller" : "callee";
      if (has_places(report)) line->place = "place";
      return;
    }
    const FrameGroup& group = row->group;
    line->names = {printable(group.name)};
    if (has_places(report)) {
      line->place = printable(place_cell(group.name, group.file, group.line, group.module));
    }
  };
  write_columns(edge_columns(report, edges, *writer), edges.rows, {}, fill, writer);
}

}  // namespace memprof::profile
