// SPDX-License-Identifier: Apache-2.0
#include "profile/churn/churn_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/report/output/report_header.h"
#include "profile/report/place_columns.h"
#include "profile/report/report_cells.h"
#include "profile/report/report_values.h"
#include "profile/text/columns.h"
#include "profile/text/markup/column_values.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

// One digit: more would say more than is known.
double rough(double ns) {
  if (!(ns > 0)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(ns)));
  return std::round(ns / unit) * unit;
}

// "20 to 60 ms"
std::string cpu_text(const CpuRange& cpu) {
  const std::string low = format_duration_ns(rough(cpu.low_ns));
  const std::string high = format_duration_ns(rough(cpu.high_ns));
  const size_t unit = low.find(' ');
  const bool same_unit = low.substr(unit) == high.substr(high.find(' '));
  return fmt::format("{} to {}", same_unit ? low.substr(0, unit) : low, high);
}

std::string time_cell(double ns) {
  return ns > 0 ? format_duration_ns(ns) : "-";
}

Json cpu_json(const CpuRange& cpu) {
  return {{"low", std::llround(cpu.low_ns)}, {"high", std::llround(cpu.high_ns)}};
}

const FrameGroup& place_of(const ChurnRow& row) {
  return row.place;
}

// Keeps a reference to the report.
std::vector<Column<ChurnRow>> churn_columns(const Report& report, const TextOptions& options) {
  const double whole = report.totals[metric_index(Metric::kTemporarySpace)].value;
  std::vector<Column<ChurnRow>> columns = place_columns<ChurnRow>(place_of);
  add_columns<ChurnRow>(
      {
          {"temporary",
           kStays,
           [](const ChurnRow& row) { return format_bytes(row.bytes.value); },
           {},
           "temporary_space",
           [](const ChurnRow& row) { return estimate_value(row.bytes); }},
          text_column<ChurnRow>(
              TextWriter(options).signs().plus_minus, 2,
              [&report](const ChurnRow& row) { return plus_minus_cell(report, row.bytes); }),
          text_column<ChurnRow>("%", kLast,
                                [=](const ChurnRow& row) { return percent_cell(row.bytes.value, whole); }),
          {"blocks",
           kStays,
           [](const ChurnRow& row) { return format_count(row.blocks.value); },
           {},
           "temporary_objects",
           [](const ChurnRow& row) { return estimate_value(row.blocks); }},
          value_column<ChurnRow>("alloc_space",
                                 [](const ChurnRow& row) { return Json(json_rounded(row.allocated_bytes)); }),
          {"mean",
           1,
           [](const ChurnRow& row) { return format_bytes(row.mean_size_bytes); },
           {},
           "mean_size_bytes",
           [](const ChurnRow& row) { return Json(json_rounded(row.mean_size_bytes)); }},
          {"lived",
           kStays,
           [](const ChurnRow& row) { return time_cell(row.median_lifetime_ns); },
           {},
           "median_lifetime_ns",
           [](const ChurnRow& row) { return Json(json_rounded(row.median_lifetime_ns)); }},
          {"CPU, likely",
           3,
           [](const ChurnRow& row) { return cpu_text(row.cpu); },
           {},
           "likely_cpu_ns",
           [](const ChurnRow& row) { return cpu_json(row.cpu); }},
          {"advice",
           kStays,
           [](const ChurnRow& row) { return std::string(advice_name(row.advice)); },
           {},
           "advice",
           [](const ChurnRow& row) { return Json(advice_name(row.advice)); }},
      },
      &columns);
  add_columns(note_columns<ChurnRow>(), &columns);
  return columns;
}

}  // namespace

std::string churn_text(const Churn& churn, const Report& report, const TextOptions& options) {
  TextWriter writer(options);
  write_header(report, &writer);
  writer.blank();
  if (churn.rows.empty()) {
    writer.sentence(churn.row_count != 0
                        ? fmt::format("{} rows, none shown; -n gives how many.", churn.row_count)
                        : fmt::format("Nothing was freed within {}; --younger TIME asks for a longer time.",
                                      format_duration_ns(static_cast<double>(report.temporary_ns))));
    return writer.take();
  }
  write_columns(churn_columns(report, options), churn.rows.begin(), churn.rows.end(),
                place_and_notes_fill<ChurnRow>(group_by_name(report.by),
                                               has_places(report.by) ? "file:line" : "", place_of),
                &writer);
  writer.blank();
  if (churn.rows.size() < churn.row_count) {
    writer.sentence(writer.faint(fmt::format("{} of {} rows shown; -n {} shows all.", churn.rows.size(),
                                             churn.row_count, churn.row_count)));
  }
  std::array<bool, kChurnAdvices> is_given{};
  for (const ChurnRow& row : churn.rows) is_given[static_cast<size_t>(row.advice)] = true;
  for (size_t i = 0; i < kChurnAdvices; ++i) {
    if (!is_given[i]) continue;
    const auto advice = static_cast<ChurnAdvice>(i);
    writer.sentence(fmt::format("{:<8} {}", std::string(advice_name(advice)) + ":", advice_text(advice)));
  }
  writer.sentence(fmt::format(
      "malloc and free of all these likely took {} of CPU: an estimate by numbers and sizes of blocks, not a "
      "measurement.",
      cpu_text(churn.cpu)));
  writer.sentence(writer.faint("lived: the median of all blocks of the place that were freed."));
  return writer.take();
}

std::string churn_json(const Churn& churn, const Report& report) {
  Json json;
  json["program"] = report.program;
  json["pid"] = report.pid != 0 ? Json(report.pid) : Json(nullptr);
  json["rate_bytes"] = report.rate_bytes;
  json["younger_ns"] = report.temporary_ns;
  json["unknown_lifetime_bytes"] = std::llround(report.unknown_lifetime_bytes);
  json["totals"] = {
      {"temporary_space", estimate_value(report.selected[metric_index(Metric::kTemporarySpace)])},
      {"temporary_objects", estimate_value(report.selected[metric_index(Metric::kTemporaryObjects)])},
      {"alloc_space", estimate_value(report.selected[metric_index(Metric::kAllocSpace)])}};
  json["median_lifetime_ns"] = std::llround(churn.median_lifetime_ns);
  json["likely_cpu_ns"] = cpu_json(churn.cpu);
  json["rows"] = json_rows(churn_columns(report, {}), churn.rows);
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
