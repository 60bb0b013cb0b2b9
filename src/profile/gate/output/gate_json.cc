// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_json.h"

#include <nlohmann/json.hpp>

#include "profile/model/metric.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/markup/notes_json.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(ScopeKind kind) {
  return kind == ScopeKind::kWhole ? "whole" : kind == ScopeKind::kSite ? "site" : "row";
}

// Of a quotient the fraction matters.
Json number(const GateResult& result, double value) {
  return result.per == LimitPer::kWhole ? Json(json_rounded(value)) : Json(value);
}

Json estimate(const GateResult& result) {
  if (!result.estimate) return nullptr;
  const Estimate& one = *result.estimate;
  return {{"value", number(result, one.value)},
          {"low", one.has_interval ? number(result, one.low) : Json(nullptr)},
          {"high", one.has_interval ? number(result, one.high) : Json(nullptr)}};
}

Json limit(const GateResult& result) {
  Json sites = Json::array();
  for (const GateSite& site : result.sites) {
    Json one = {{"name", site.group.name},
                {"file", site.group.file},
                {"line", site.group.line},
                {"module", site.group.module},
                {"value", json_rounded(site.value)}};
    add_notes(site.notes, &one);
    sites.push_back(std::move(one));
  }
  return {{"scope", kind_name(result.kind)},
          {"name", result.scope},
          {"limit", result.key},
          {"most", result.max},
          {"line", result.line},
          {"unit", metric_unit(result.metric)},
          {"verdict", verdict_name(result.verdict)},
          {"estimate", estimate(result)},
          {"what", result.what},
          {"sites", std::move(sites)}};
}

}  // namespace

std::string gate_json(const GateReport& report) {
  Json checks = Json::array();
  for (const CheckResult& check : report.checks) {
    Json limits = Json::array();
    for (const GateResult& result : check.results) limits.push_back(limit(result));
    checks.push_back({{"name", check.name},
                      {"line", check.line},
                      {"subject", check.subject},
                      {"exit_status", check.status ? Json(*check.status) : Json(nullptr)},
                      {"error", check.error.empty() ? Json(nullptr) : Json(check.error)},
                      {"rate_bytes", check.rate_bytes},
                      {"samples", check.samples},
                      {"warnings", check.warnings},
                      {"profiles", check.kept},
                      {"limits", std::move(limits)}});
  }
  const Json all = {{"file", report.path},
                    {"status", report.status()},
                    {"passed", report.count(Verdict::kPass)},
                    {"failed", report.count(Verdict::kFail)},
                    {"without_verdict", report.count(Verdict::kNone)},
                    {"checks", std::move(checks)}};
  return json_to_text(all, 2) + "\n";
}

}  // namespace memprof::profile
