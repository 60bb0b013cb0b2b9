// SPDX-License-Identifier: Apache-2.0
#include "profile/churn/churn_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/report/output/report_header.h"
#include "profile/report/report_cells.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/markup/notes_json.h"
#include "profile/text/text_table.h"
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

Json estimate(const Estimate& value) {
  const Json low = value.has_interval ? Json(std::llround(value.low)) : Json(nullptr);
  const Json high = value.has_interval ? Json(std::llround(value.high)) : Json(nullptr);
  return {{"value", std::llround(value.value)}, {"low", low}, {"high", high}};
}

Json cpu_json(const CpuRange& cpu) {
  return {{"low", std::llround(cpu.low_ns)}, {"high", std::llround(cpu.high_ns)}};
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
  const double whole = report.totals[metric_index(Metric::kTemporarySpace)].value;
  const bool has_places = report.by == GroupBy::kFunction || report.by == GroupBy::kLine;
  TextRow titles;
  titles.numbers = {"temporary", writer.signs().plus_minus, "%", "blocks", "mean", "lived", "CPU, likely",
                    "advice"};
  titles.name_text = group_by_name(report.by);
  if (has_places) titles.place = "file:line";
  TextTable table(std::move(titles));
  table.set_optional({4, 1, 6}, {2});
  std::array<bool, kChurnAdvices> is_given{};
  for (const ChurnRow& row : churn.rows) {
    is_given[static_cast<size_t>(row.advice)] = true;
    TextRow line;
    line.numbers = {format_bytes(row.bytes.value),
                    plus_minus_cell(report, row.bytes),
                    percent_cell(row.bytes.value, whole),
                    format_count(row.blocks.value),
                    format_bytes(row.mean_size_bytes),
                    time_cell(row.median_lifetime_ns),
                    cpu_text(row.cpu),
                    advice_name(row.advice)};
    line.names = {printable(row.place.name)};
    if (has_places) {
      for (const std::string& note : note_cells(row.notes)) line.notes.push_back(printable(note));
      line.place = printable(place_cell(row.place.name, row.place.file, row.place.line, row.place.module));
    }
    table.add(std::move(line));
  }
  table.write(&writer);
  writer.blank();
  if (churn.rows.size() < churn.row_count) {
    writer.sentence(writer.faint(fmt::format("{} of {} rows shown; -n {} shows all.", churn.rows.size(),
                                             churn.row_count, churn.row_count)));
  }
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
  json["totals"] = {{"temporary_space", estimate(report.selected[metric_index(Metric::kTemporarySpace)])},
                    {"temporary_objects", estimate(report.selected[metric_index(Metric::kTemporaryObjects)])},
                    {"alloc_space", estimate(report.selected[metric_index(Metric::kAllocSpace)])}};
  json["median_lifetime_ns"] = std::llround(churn.median_lifetime_ns);
  json["likely_cpu_ns"] = cpu_json(churn.cpu);
  json["rows"] = Json::array();
  for (const ChurnRow& row : churn.rows) {
    Json one = {{"name", row.place.name},
                {"file", row.place.file},
                {"line", row.place.line},
                {"module", row.place.module},
                {"temporary_space", estimate(row.bytes)},
                {"temporary_objects", estimate(row.blocks)},
                {"alloc_space", std::llround(row.allocated_bytes)},
                {"mean_size_bytes", std::llround(row.mean_size_bytes)},
                {"median_lifetime_ns", std::llround(row.median_lifetime_ns)},
                {"likely_cpu_ns", cpu_json(row.cpu)},
                {"advice", advice_name(row.advice)}};
    add_notes(row.notes, &one);
    json["rows"].push_back(std::move(one));
  }
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
