// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_columns.h"

#include <nlohmann/json.hpp>

#include "profile/compare/comparison_cells.h"
#include "profile/report/place_columns.h"
#include "profile/report/report_values.h"
#include "profile/text/bar.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;
using Row = ComparisonRow;

Tone tone_of(const Row& row) {
  return change_tone(row.change.value);
}

Json if_tested(const Row& row, const Json& value) {
  return row.change.is_tested ? value : Json(nullptr);
}

Json cumulative(const Row& row) {
  return {{"before", json_rounded(row.cumulative_before)}, {"after", json_rounded(row.cumulative_after)}};
}

}  // namespace

Json change_value(const Change& change) {
  return interval_value(change.value, change.low, change.high, change.is_tested);
}

const FrameGroup& place_of(const ComparisonRow& row) {
  return row.group;
}

std::vector<Column<Row>> comparison_columns(const Comparison& comparison, const ChangeTable& table) {
  const Metric metric = comparison.metric;
  std::vector<Column<Row>> columns = place_columns<Row>(place_of);
  columns.push_back(text_column<Row>(
      table.title, kStays, [=](const Row& row) { return signed_text(metric, row.change.value); }, tone_of));
  if (table.options.has_bars) {
    columns.push_back(text_column<Row>(
        "", 1,
        [largest = table.largest_change, has_utf8 = table.options.has_utf8](const Row& row) {
          return bar_cell(largest > 0 ? row.change.value / largest : 0, has_utf8);
        },
        tone_of));
  }
  add_columns<Row>(
      {
          text_column<Row>("95 % interval", kLast,
                           [=](const Row& row) { return interval_text(metric, row.change); }),
          {"before",
           3,
           [=](const Row& row) { return format_metric(metric, row.change.before.value); },
           {},
           "before",
           [](const Row& row) { return estimate_value(row.change.before); }},
          {"after",
           4,
           [=](const Row& row) { return format_metric(metric, row.change.after.value); },
           {},
           "after",
           [](const Row& row) { return estimate_value(row.change.after); }},
          value_column<Row>("change", [](const Row& row) { return change_value(row.change); }),
          value_column<Row>("p_value", [](const Row& row) { return if_tested(row, row.change.p_value); }),
          {"p",
           2,
           [](const Row& row) { return row.change.is_tested ? p_text(row.corrected_p) : "?"; },
           {},
           "corrected_p_value",
           [](const Row& row) { return if_tested(row, row.corrected_p); }},
          value_column<Row>("significant", [](const Row& row) { return if_tested(row, row.is_significant); }),
      },
      &columns);
  add_columns(note_columns<Row>(), &columns);
  columns.push_back(value_column<Row>("cumulative", cumulative));
  return columns;
}

}  // namespace memprof::profile
