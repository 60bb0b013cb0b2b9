// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profile/report/report_cells.h"
#include "profile/report/report_values.h"
#include "profile/text/bar.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

struct SizeSum {
  Accumulator sum;
  uint64_t samples = 0;
};

uint64_t power_below(uint64_t size) {
  uint64_t power = 1;
  while (power <= size / 2) power *= 2;
  return power;
}

std::string class_text(const SizeRow& row) {
  return fmt::format("{} to {}", format_bytes(static_cast<double>(row.from_bytes)),
                     format_bytes(static_cast<double>(row.to_bytes)));
}

}  // namespace

std::vector<SizeRow> size_rows(const std::vector<const Stack*>& stacks) {
  std::map<uint64_t, SizeSum> sums;
  for (const Stack* stack : stacks) {
    for (const LiveGroup& group : stack->live) {
      Stack one;
      one.has_statistics = true;
      one.live = {group};
      SizeSum& sum = sums[power_below(group.size_bytes)];
      sum.sum.add(one);
      sum.samples += group.samples;
    }
  }
  std::vector<SizeRow> rows;
  for (const auto& [from, sum] : sums) {
    const uint64_t to = from > UINT64_MAX / 2 ? UINT64_MAX : 2 * from;
    rows.push_back({from, to, sum.samples, sum.sum.estimate(Metric::kInuseSpace),
                    sum.sum.estimate(Metric::kInuseObjects)});
  }
  return rows;
}

std::vector<Column<SizeRow>> size_columns(const Report& report, const TextOptions& options) {
  const double whole = report.selected[metric_index(Metric::kInuseSpace)].value;
  const std::string sign = TextWriter(options).signs().plus_minus;
  double largest = 0;
  for (const SizeRow& row : report.sizes) largest = std::max(largest, row.bytes.value);
  return {
      value_column<SizeRow>("from_bytes", [](const SizeRow& row) { return Json(row.from_bytes); }),
      value_column<SizeRow>("to_bytes", [](const SizeRow& row) { return Json(row.to_bytes); }),
      value_column<SizeRow>("samples", [](const SizeRow& row) { return Json(row.samples); }),
      {"live",
       kStays,
       [](const SizeRow& row) { return format_bytes(row.bytes.value); },
       {},
       "inuse_space",
       [&report](const SizeRow& row) { return estimate_value(report, row.bytes); },
       estimate_fields()},
      text_column<SizeRow>(
          sign, 3, [&report](const SizeRow& row) { return plus_minus_cell(report, row.bytes); },
          [](const SizeRow&) { return Tone::kFaint; }),
      text_column<SizeRow>("%", kLast,
                           [=](const SizeRow& row) { return percent_cell(row.bytes.value, whole); }),
      text_column<SizeRow>(
          "", kStays,
          [largest, has_utf8 = options.has_utf8](const SizeRow& row) {
            return bar_cell(largest > 0 ? row.bytes.value / largest : 0, has_utf8);
          },
          [](const SizeRow&) { return Tone::kBar; }),
      {"blocks",
       kStays,
       [](const SizeRow& row) { return format_count(row.blocks.value); },
       {},
       "inuse_objects",
       [&report](const SizeRow& row) { return estimate_value(report, row.blocks); },
       estimate_fields()},
      text_column<SizeRow>(sign, 2,
                           [&report](const SizeRow& row) { return plus_minus_cell(report, row.blocks); }),
      text_column<SizeRow>("samples", 1,
                           [](const SizeRow& row) { return format_count(static_cast<double>(row.samples)); }),
  };
}

void write_sizes(const Report& report, TextWriter* writer) {
  const auto fill = [](const SizeRow* row, TextRow* line) {
    line->name_text = row == nullptr ? "size of a block" : class_text(*row);
  };
  write_columns(size_columns(report, writer->options()), report.sizes.begin(), report.sizes.end(), fill,
                writer);
}

}  // namespace memprof::profile
