// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_json.h"

#include <nlohmann/json.hpp>

#include "profile/compare/output/comparison_columns.h"
#include "profile/memory/resident_json.h"
#include "profile/model/metric.h"
#include "profile/report/report_values.h"
#include "profile/text/markup/column_values.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

Json change(const Change& one) {
  return {{"before", estimate_value(one.before)},
          {"after", estimate_value(one.after)},
          {"change", change_value(one)},
          {"p_value", one.is_tested ? Json(one.p_value) : Json(nullptr)}};
}

Json frame(const FrameGroup& group) {
  return {{"name", group.name}, {"file", group.file}, {"line", group.line}, {"module", group.module}};
}

Json side(const ComparedSide& side) {
  Json files = Json::array();
  for (const ComparedFile& file : side.files) {
    files.push_back({{"name", file.name},
                     {"program", file.program},
                     {"pid", file.pid != 0 ? Json(file.pid) : Json(nullptr)},
                     {"time_unix_ns", file.time_unix_ns},
                     {"duration_ns", file.duration_ns},
                     {"rate_bytes", file.rate_bytes},
                     {"samples", file.from_memprof ? Json(file.samples) : Json(nullptr)}});
  }
  return files;
}

Json tree(const Comparison& comparison, const ComparisonTree& tree) {
  Json nodes = Json::array();
  for (const ComparisonNode& node : tree.nodes) {
    Json frames = Json::array();
    for (const uint32_t group : node.groups) frames.push_back(frame(comparison.groups[group]));
    nodes.push_back({{"parent", node.parent == SIZE_MAX ? Json(nullptr) : Json(node.parent)},
                     {"depth", node.depth},
                     {"frames", std::move(frames)},
                     {"before", json_rounded(node.before)},
                     {"after", json_rounded(node.after)}});
  }
  return {{"nodes", std::move(nodes)}, {"hidden", tree.hidden}};
}

// null: not known, as of a killed process, or of several files.
Json resident(const ResidentMemory& memory) {
  if (!memory.is_known()) return nullptr;
  Json json = resident_numbers(memory);
  const bool is_known = memory.is_heap_known();
  json["unexplained_bytes"] = number_or_null(is_known, json_rounded(memory.unexplained_bytes()));
  json["fragmentation"] = number_or_null(is_known, memory.fragmentation());
  return json;
}

void add_rows(const std::vector<Column<ComparisonRow>>& columns, const std::vector<ComparisonRow>& rows,
              size_t max_rows, Json* all) {
  for (const ComparisonRow& row : rows) {
    if (all->size() >= max_rows) return;
    all->push_back(json_row(columns, row));
  }
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const std::vector<LimitResult>& limits,
                            size_t max_rows) {
  Json json;
  json["before"] = side(comparison.before);
  json["after"] = side(comparison.after);
  json["warnings"] = comparison.warnings;
  json["by"] = group_by_name(comparison.by);
  json["metric"] = metric_name(comparison.metric);
  const auto or_null = [](const auto& text) { return text ? Json(*text) : Json(nullptr); };
  json["focus"] = or_null(comparison.filter.focus);
  json["ignore"] = or_null(comparison.filter.ignore);
  json["process"] = or_null(comparison.filter.process);
  json["correction"] = comparison.is_tested ? Json("benjamini-hochberg") : Json(nullptr);
  json["significance"] = kSignificance;
  json["tested_rows"] = comparison.row_count();
  for (const Metric metric : kMetrics) {
    if (!comparison.has_metric[metric_index(metric)]) continue;
    const Change& total = comparison.totals[metric_index(metric)];
    Json one = change(total);
    one["significant"] = total.is_tested ? Json(is_significant(total)) : Json(nullptr);
    json["totals"][metric_name(metric)] = std::move(one);
  }
  json["resident"] = {{"before", resident(comparison.before.resident)},
                      {"after", resident(comparison.after.resident)}};
  json["rows"] = Json::array();
  const std::vector<Column<ComparisonRow>> columns = comparison_columns(comparison);
  for (const auto* rows : {&comparison.growth, &comparison.shrinkage, &comparison.others}) {
    add_rows(columns, *rows, max_rows, &json["rows"]);
  }
  json["not_significant"] = {{"rows", comparison.others.size()},
                             {"before", json_rounded(comparison.others_before)},
                             {"after", json_rounded(comparison.others_after)}};
  if (comparison.tree) json["tree"] = tree(comparison, *comparison.tree);
  json["limits"] = Json::array();
  for (const LimitResult& limit : limits) {
    json["limits"].push_back({{"limit", limit.text}, {"exceeded", limit.is_exceeded}, {"what", limit.what}});
  }
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
