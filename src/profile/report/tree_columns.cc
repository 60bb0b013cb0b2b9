// SPDX-License-Identifier: Apache-2.0
#include "profile/report/tree_columns.h"

#include <nlohmann/json.hpp>

#include "profile/report/place_columns.h"
#include "profile/report/report_cells.h"
#include "profile/report/report_values.h"
#include "profile/text/markup/column_values.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

// What is left out has no such cell.
std::function<std::string(const TreeRow&)> of_node(std::function<std::string(const TreeNode&)> cell) {
  return [cell = std::move(cell)](const TreeRow& row) { return row.node != nullptr ? cell(*row.node) : ""; };
}

Json frames(const Report& report, const TreeNode& node) {
  using Group = const FrameGroup*;
  static const std::vector<Column<Group>> kPlace =
      place_columns<Group>([](Group group) -> const FrameGroup& { return *group; });
  Json frames = Json::array();
  for (const uint32_t index : node.groups) frames.push_back(json_row<Group>(kPlace, &report.groups[index]));
  return frames;
}

Column<TreeRow> value(const std::string& name, std::function<Json(const TreeNode&)> value) {
  return value_column<TreeRow>(name,
                               [value = std::move(value)](const TreeRow& row) { return value(*row.node); });
}

}  // namespace

std::vector<Column<TreeRow>> tree_columns(const Report& report, Direction direction, bool growth,
                                          const TextOptions& options) {
  constexpr int kPlusMinusRank = 1;
  constexpr int kCompanionRank = 2;
  const Report* const of = &report;
  const Metric metric = report.metric;
  const size_t index = metric_index(metric);
  const Metric companion = companions(metric)[metric_is_resident(metric) ? 1 : 0];

  std::vector<Column<TreeRow>> columns;
  columns.push_back(value("parent", [](const TreeNode& node) {
    return node.parent == kNoParent ? Json(nullptr) : Json(node.parent);
  }));
  columns.push_back(value("depth", [](const TreeNode& node) { return Json(node.depth); }));
  columns.push_back(value("frames", [of](const TreeNode& node) { return frames(*of, node); }));
  columns.push_back(text_column<TreeRow>(metric_title(metric), kStays, [of, metric](const TreeRow& row) {
    return row.node != nullptr ? value_cell(*of, metric, row.node->cumulative)
                               : format_metric(metric, row.hidden_value);
  }));
  columns.push_back(text_column<TreeRow>(
      TextWriter(options).signs().plus_minus, kPlusMinusRank,
      of_node([of, index](const TreeNode& node) { return plus_minus_cell(*of, node.cumulative[index]); })));
  columns.push_back(text_column<TreeRow>("%", kStays, [of, index](const TreeRow& row) {
    const double part = row.node != nullptr ? row.node->cumulative[index].value : row.hidden_value;
    return percent_cell(part, of->totals[index].value);
  }));
  Column<TreeRow> self =
      value("self", [of](const TreeNode& node) { return estimate_values(*of, node.self); });
  if (direction == Direction::kCallees) {  // callers have none
    self.title = "self";
    self.left_out = kLast;
    self.cell = of_node([of, metric](const TreeNode& node) { return value_cell(*of, metric, node.self); });
  }
  columns.push_back(std::move(self));
  columns.push_back(
      value("cumulative", [of](const TreeNode& node) { return estimate_values(*of, node.cumulative); }));
  columns.push_back(text_column<TreeRow>(metric_title(companion), growth ? kCompanionRank : kStays,
                                         of_node([of, companion](const TreeNode& node) {
                                           return value_cell(*of, companion, node.cumulative);
                                         })));
  if (growth) {
    columns.push_back(text_column<TreeRow>(
        "growth", kStays,
        [](const TreeRow& row) { return row.node != nullptr ? format_signed_bytes(row.growth) : ""; },
        [](const TreeRow& row) { return row.node != nullptr ? change_tone(row.growth) : Tone::kPlain; }));
  }
  columns.push_back(
      value("hidden_children", [](const TreeNode& node) { return Json(node.hidden_children); }));
  columns.push_back(
      value("hidden_value", [](const TreeNode& node) { return json_rounded(node.hidden_value); }));
  return columns;
}

}  // namespace memprof::profile
