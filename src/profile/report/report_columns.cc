// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_columns.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "profile/report/place_columns.h"
#include "profile/report/report_cells.h"
#include "profile/report/report_values.h"
#include "profile/text/bar.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::array<Estimate, kMetricCount>;

constexpr double kLargeShare = 0.1;

// Which sums of a row, and which of these: of the metric that rows are ordered by, of those that stand beside it, of
// its blocks and their bytes; or of the whole profile.
enum class Sums : uint8_t { kSelf, kCumulative };
enum class Of : uint8_t { kNothing, kMetric, kFirstBeside, kSecondBeside, kBytes, kBlocks, kWhole };

// How it is shown: a number, a part of another in percent, half of the interval, a bar.
enum class Shape : uint8_t { kNumber, kPercent, kMargin, kBar };

// A column that is computed from the sums of its row.  It is data, not code, so that a page can compute it, too.
struct SumColumn {
  Sums sums;
  Shape shape;
  Of of;
  Of per;  // divided by it
  int left_out;
  const char* title;  // nullptr: that of the metric
  // In JSON and CSV; nullptr: programs have it in the sums of all metrics.
  const char* name;
  // Over it on a page, and on one of a difference; nullptr: it is not there.
  const char* page_title;
  const char* change_title;
};

// A title that is written in the signs of the terminal.
constexpr const char* kPlusMinus = "±";

constexpr SumColumn kSumColumns[] = {
    {Sums::kSelf, Shape::kNumber, Of::kMetric, Of::kNothing, kStays, nullptr, nullptr, "self", "change"},
    {Sums::kSelf, Shape::kMargin, Of::kMetric, Of::kNothing, 4, kPlusMinus, nullptr, kPlusMinus, kPlusMinus},
    {Sums::kSelf, Shape::kPercent, Of::kMetric, Of::kWhole, kLast, "%", nullptr, "%", "%"},
    {Sums::kSelf, Shape::kBar, Of::kMetric, Of::kWhole, 1, "", nullptr, nullptr, nullptr},
    {Sums::kSelf, Shape::kNumber, Of::kFirstBeside, Of::kNothing, 3, nullptr, nullptr, nullptr, nullptr},
    {Sums::kSelf, Shape::kNumber, Of::kSecondBeside, Of::kNothing, 2, nullptr, nullptr, nullptr, nullptr},
    {Sums::kCumulative, Shape::kNumber, Of::kMetric, Of::kNothing, kStays, nullptr, nullptr, "cumulative",
     "with callees"},
    {Sums::kCumulative, Shape::kPercent, Of::kMetric, Of::kWhole, kStays, "%", nullptr, "%", "%"},
};

const Values& sums_of(const SumColumn& column, const ReportRow& row) {
  return column.sums == Sums::kSelf ? row.self : row.cumulative;
}

Metric metric_of(Of of, Metric metric) {
  const size_t index = metric_index(metric);
  if (of == Of::kBytes) return static_cast<Metric>(index | 1);
  return of == Of::kBlocks ? static_cast<Metric>(index & ~size_t{1}) : metric;
}

double number_of(Of of, const Report& report, const Values& values) {
  if (of == Of::kNothing) return 1;
  const Metric metric = metric_of(of, report.metric);
  return (of == Of::kWhole ? report.totals : values)[metric_index(metric)].value;
}

double quotient(const SumColumn& column, const Report& report, const Values& values) {
  const double whole = number_of(column.per, report, values);
  return whole > 0 ? number_of(column.of, report, values) / whole : 0;
}

std::string cell_of(const SumColumn& column, const Report& report, const Values& values, bool has_utf8) {
  const Estimate& estimate = values[metric_index(report.metric)];
  switch (column.shape) {
    case Shape::kMargin:
      return plus_minus_cell(report, estimate);
    case Shape::kPercent:
      return percent_cell(number_of(column.of, report, values), number_of(column.per, report, values));
    case Shape::kBar:
      return bar_cell(quotient(column, report, values), has_utf8);
    case Shape::kNumber:
      break;
  }
  if (column.of == Of::kFirstBeside) return companion_cells(report, values)[0];
  if (column.of == Of::kSecondBeside) return companion_cells(report, values)[1];
  const Metric metric = metric_of(column.of, report.metric);
  if (column.per == Of::kNothing) return value_cell(report, metric, values);
  const double number = quotient(column, report, values);
  return number > 0 ? format_metric(metric, number) : "";
}

Json value_of(const SumColumn& column, const Report& report, const Values& values) {
  if (!(number_of(column.per, report, values) > 0)) return nullptr;
  const double number = quotient(column, report, values);
  return column.shape == Shape::kPercent ? Json(number) : Json(json_rounded(number));
}

std::string title_of(const SumColumn& column, Metric metric, const Signs& signs) {
  if (column.title == kPlusMinus) return signs.plus_minus;
  if (column.title != nullptr) return column.title;
  if (column.of == Of::kFirstBeside) return companion_titles(metric)[0];
  if (column.of == Of::kSecondBeside) return companion_titles(metric)[1];
  return metric_title(metric_of(column.of, metric));
}

Tone tone_of(const SumColumn& column, const Report& report, const ReportRow& row) {
  if (column.shape == Shape::kMargin) return Tone::kFaint;
  if (column.shape == Shape::kBar) return Tone::kBar;
  if (column.sums != Sums::kSelf || column.of != Of::kMetric) return Tone::kPlain;
  const double whole = number_of(Of::kWhole, report, row.self);
  const bool is_large = whole > 0 && number_of(Of::kMetric, report, row.self) / whole >= kLargeShare;
  return is_large ? Tone::kStrong : Tone::kPlain;
}

const char* page_name(Of of) {
  switch (of) {
    case Of::kMetric:
      return "metric";
    case Of::kBytes:
      return "bytes";
    case Of::kBlocks:
      return "blocks";
    case Of::kWhole:
      return "whole";
    case Of::kNothing:
    case Of::kFirstBeside:
    case Of::kSecondBeside:
      break;
  }
  return "";
}

const char* page_name(Shape shape) {
  return shape == Shape::kMargin ? "margin" : shape == Shape::kPercent ? "percent" : "number";
}

const ReportRow& place_of(const ReportRow& row) {
  return row;  // NOLINT(bugprone-return-const-ref-from-parameter): rows are the report's
}

const FrameGroup& group_of(const EdgeRow& row) {
  return row.group;
}

}  // namespace

std::vector<Column<ReportRow>> report_columns(const Report& report, const TextOptions& options) {
  std::vector<Column<ReportRow>> columns = place_columns<ReportRow>(place_of);
  add_columns(note_columns<ReportRow>(), &columns);
  columns.push_back(value_column<ReportRow>(
      "self", [&report](const ReportRow& row) { return estimate_values(report, row.self); },
      estimates_fields(report)));
  columns.push_back(value_column<ReportRow>(
      "cumulative", [&report](const ReportRow& row) { return estimate_values(report, row.cumulative); },
      estimates_fields(report)));
  const Signs signs = TextWriter(options).signs();
  for (const SumColumn& one : kSumColumns) {
    if (one.shape == Shape::kBar && !options.has_bars) continue;
    Column<ReportRow> column;
    column.title = title_of(one, report.metric, signs);
    column.left_out = one.left_out;
    column.cell = [&report, &one, has_utf8 = options.has_utf8](const ReportRow& row) {
      return cell_of(one, report, sums_of(one, row), has_utf8);
    };
    column.tone = [&report, &one](const ReportRow& row) { return tone_of(one, report, row); };
    if (one.name != nullptr) {
      column.name = one.name;
      column.value = [&report, &one](const ReportRow& row) {
        return value_of(one, report, sums_of(one, row));
      };
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Column<EdgeRow>> edge_columns(const Report& report, const CallEdges& edges,
                                          const TextOptions& options) {
  const Metric metric = report.metric;
  const size_t at = metric_index(metric);
  const double whole = report.totals[at].value;
  const double of_it = edges.cumulative[at].value;
  const auto others = companion_titles(metric);
  std::vector<Column<EdgeRow>> columns = place_columns<EdgeRow>(group_of);
  add_columns<EdgeRow>(
      {
          value_column<EdgeRow>(
              "values", [&report](const EdgeRow& row) { return estimate_values(report, row.values); }),
          text_column<EdgeRow>(
              metric_title(metric), kStays,
              [&report, metric](const EdgeRow& row) { return value_cell(report, metric, row.values); }),
          text_column<EdgeRow>(
              TextWriter(options).signs().plus_minus, 2,
              [&report, at](const EdgeRow& row) { return plus_minus_cell(report, row.values[at]); }),
          text_column<EdgeRow>("%", kStays,
                               [=](const EdgeRow& row) { return percent_cell(row.values[at].value, whole); }),
          text_column<EdgeRow>("of it", kLast,
                               [=](const EdgeRow& row) { return percent_cell(row.values[at].value, of_it); }),
          text_column<EdgeRow>(
              others[0], 3, [&report](const EdgeRow& row) { return companion_cells(report, row.values)[0]; }),
          text_column<EdgeRow>(
              others[1], 1, [&report](const EdgeRow& row) { return companion_cells(report, row.values)[1]; }),
      },
      &columns);
  return columns;
}

Json page_columns() {
  Json columns = Json::array();
  for (const SumColumn& column : kSumColumns) {
    if (column.page_title == nullptr) continue;
    columns.push_back({{"title", column.page_title},
                       {"change_title", column.change_title},
                       {"sums", column.sums == Sums::kSelf ? "self" : "total"},
                       {"shape", page_name(column.shape)},
                       {"of", page_name(column.of)},
                       {"per", page_name(column.per)}});
  }
  return columns;
}

void write_rows(const Report& report, TextWriter* writer) {
  const bool has_files = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const ReportRow& row) { return !row.file.empty(); });
  const auto fill = place_and_notes_fill<ReportRow>(group_by_name(report.by),
                                                    !has_places(report.by) ? ""
                                                    : has_files            ? "file:line"
                                                                           : "module",
                                                    place_of);
  const auto shown = [&](Sums sums) {
    return static_cast<size_t>(
        std::count_if(std::begin(kSumColumns), std::end(kSumColumns), [&](const SumColumn& column) {
          return column.sums == sums && (column.shape != Shape::kBar || writer->options().has_bars);
        }));
  };
  write_columns(report_columns(report, writer->options()), report.rows.begin(), report.rows.end(), fill,
                writer, {{"self", shown(Sums::kSelf)}, {"cumulative", shown(Sums::kCumulative)}});
}

void write_edges(const Report& report, const CallEdges& edges, TextWriter* writer) {
  const auto fill = place_fill<EdgeRow>(edges.direction == Direction::kCallers ? "caller" : "callee",
                                        has_places(report.by) ? "place" : "", group_of);
  write_columns(edge_columns(report, edges, writer->options()), edges.rows.begin(), edges.rows.end(), fill,
                writer);
}

}  // namespace memprof::profile
