// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_json.h"

#include <nlohmann/json.hpp>

#include "profile/memory/resident_json.h"
#include "profile/memory/resident_text.h"
#include "profile/report/report_columns.h"
#include "profile/report/report_values.h"
#include "profile/report/tree_columns.h"
#include "profile/text/markup/column_values.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<uint64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

// What is counted, then flags, then moments; what is not known is null.
void add_facts(const Report& report, Json* json) {
  for (const ProfileFact& fact : kProfileFacts) {
    if (!fact.is_reported || fact.part == FactPart::kEnds || fact.part == FactPart::kMoments) continue;
    (*json)[fact.json] = number_or_null(report.from_memprof, fact.of(report));
  }
  for (const ProfileFact& fact : kProfileFacts) {
    if (!fact.is_reported || fact.part != FactPart::kEnds) continue;
    (*json)[fact.json] = report.from_memprof ? Json(fact.of(report) != 0) : Json(nullptr);
  }
  for (const ProfileFact& fact : kProfileFacts) {
    if (!fact.is_reported || fact.part != FactPart::kMoments) continue;
    (*json)[fact.json] = fact.flag != nullptr
                             ? (report.from_memprof ? Json(fact.of(report) != 0) : Json(nullptr))
                             : number_or_null(fact.of(report) != 0, fact.of(report));
  }
}

Json share(double part, double whole) {
  return whole > 0 ? Json(part / whole) : Json(nullptr);
}

Json health(const Report& report) {
  if (!report.health) return nullptr;
  const StackHealth& health = *report.health;
  Json json;
  json["confidence"] = confidence_name(health.truncation_rate());
  json["truncation_rate"] = health.truncation_rate();
  json["shallow_stack_warnings"] = health.truncated();
  json["total_native_stacks"] = health.walks;
  json["avg_native_depth"] = health.mean_depth ? Json(*health.mean_depth) : Json(nullptr);
  json["median_native_depth"] = optional(health.median_depth);
  json["min_native_depth"] = optional(health.min_depth);
  json["shortened_alloc_space"] = json_rounded(health.shortened_bytes);
  json["shortened_alloc_space_share"] = share(health.shortened_bytes, health.total_allocated_bytes);
  for (size_t i = 0; i < kWalkReasons; ++i) {
    json["endings"][walk_name(static_cast<Walk>(i))] = {
        {"samples", health.samples[i]},
        {"share", share(static_cast<double>(health.samples[i]), static_cast<double>(health.walks))},
        {"alloc_space", json_rounded(health.allocated_bytes[i])},
        {"alloc_space_share", share(health.allocated_bytes[i], health.total_allocated_bytes)}};
  }
  return json;
}

// Flat: parsers limit how deep JSON may nest, and stacks are deeper.
Json tree(const Report& report, const CallTree& tree) {
  const std::vector<Column<TreeRow>> columns = tree_columns(report);
  Json nodes = Json::array();
  for (const TreeNode& node : tree.nodes) nodes.push_back(json_row(columns, TreeRow{&node}));
  return {{"nodes", std::move(nodes)},
          {"hidden_roots", tree.hidden_roots},
          {"hidden_root_value", json_rounded(tree.hidden_root_value)}};
}

Json calls(const Report& report, const ReportCalls& calls) {
  Json json = {{"function", calls.edges.function},
               {"matched", calls.edges.matched},
               {"self", estimate_values(report, calls.edges.self)},
               {"cumulative", estimate_values(report, calls.edges.cumulative)},
               {"recursive", calls.edges.has_recursion},
               {"rows", json_rows(edge_columns(report, calls.edges), calls.edges.rows)}};
  if (calls.tree) json["tree"] = tree(report, *calls.tree);
  return json;
}

Json resident(const ResidentMemory& memory, const std::string& likely_runtime) {
  Json json = resident_numbers(memory);
  const bool is_known = memory.is_heap_known();
  json["free_known"] = is_known && (memory.state & kResidentFreeKnown) != 0;
  json["complete"] = (memory.state & (kResidentFreeCut | kResidentCut)) == 0;
  json["counted_by"] = counting_allocators(memory);
  if (is_known && (memory.state & kResidentCounted) != 0)
    json["unexplained_by_count_bytes"] = json_rounded(memory.unexplained_by_count_bytes());
  json["runtime"] = runtime_heap_name(memory);
  json["likely_runtime"] = likely_runtime;
  json["unexplained_bytes"] = number_or_null(is_known, json_rounded(memory.unexplained_bytes()));
  json["unexplained_heap_bytes"] = number_or_null(is_known, json_rounded(memory.unexplained_heap_bytes()));
  json["fragmentation"] = number_or_null(is_known, memory.fragmentation());
  return json;
}

}  // namespace

std::string report_json(const Report& report) {
  Json json;
  json["program"] = report.program;
  json["pid"] = number_or_null(report.pid != 0, report.pid);
  json["rate_bytes"] = report.rate_bytes;
  if (!report.origin.empty()) json["origin"] = report.origin;
  if (!report.rates.empty()) {
    json["rates"] = Json::array();
    for (const RateUse& use : report.rates) {
      json["rates"].push_back(
          {{"rate_bytes", use.rate_bytes}, {"weight_bytes", use.weight_bytes}, {"time_ns", use.time_ns}});
    }
  }
  add_facts(report, &json);
  if (report.resident.is_known()) json["resident"] = resident(report.resident, report.likely_runtime_heap);
  if (const UnseenHeap& unseen = report.unseen_heap; unseen.is_known()) {
    json["unseen_heap"] = {{"bytes", unseen.unseen_bytes},
                           {"anonymous_bytes", unseen.anonymous_bytes},
                           {"owner", unseen.owner},
                           {"way_out", unseen.way_out}};
  }
  json["metric"] = metric_name(report.metric);
  if (report.temporary_ns != 0) {
    json["temporary_ns"] = report.temporary_ns;
    json["unknown_lifetime_bytes"] = json_rounded(report.unknown_lifetime_bytes);
  }
  json["totals"] = estimate_values(report, report.totals);
  json["rows"] = json_rows(report_columns(report), report.rows);
  if (report.has_sizes) json["sizes"] = json_rows(size_columns(report), report.sizes);
  if (!report.heaps.empty()) {
    json["heaps"] = Json::array();
    for (const ReportHeap& heap : report.heaps) {
      json["heaps"].push_back({{"name", heap.name}, {"values", estimate_values(report, heap.values)}});
    }
  }
  json["stack_health"] = health(report);
  if (report.is_filtered()) {
    const auto or_null = [](const auto& text) { return text ? Json(*text) : Json(nullptr); };
    json["focus"] = or_null(report.filter.focus);
    json["ignore"] = or_null(report.filter.ignore);
    json["process"] = or_null(report.filter.process);
    json["selected"] = estimate_values(report, report.selected);
  }
  if (!report.hidden.empty()) json["hide"] = report.hidden;
  if (!report.forwarders.empty()) json["forwarders"] = report.forwarders;
  if (report.tree) json["tree"] = tree(report, *report.tree);
  for (const ReportCalls& one : report.calls) {
    json[one.edges.direction == Direction::kCallers ? "callers" : "callees"] = calls(report, one);
  }
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
