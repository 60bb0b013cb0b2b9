// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_json.h"

#include <nlohmann/json.hpp>

#include "profile/model/metric.h"
#include "profile/report/report_values.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

Json facts_of(const Series& series) {
  return {
      {"series", kVersion}, {"program", series.program}, {"pid", series.pid}, {"every_ns", series.every_ns}};
}

Json figures_json(const SeriesLook& look) {
  Json json = {{"time_unix_ns", look.time_unix_ns}, {"processes", look.processes}};
  json["totals"] = Json::object();
  for (const auto& [metric, estimate] : look.totals)
    json["totals"][metric_name(metric)] = estimate_value(estimate);
  json["system"] = look.system;
  json["sites"] = Json::array();
  for (const SeriesSite& site : look.sites) {
    json["sites"].push_back({{"function", site.name},
                             {"file", site.file},
                             {"module", site.module},
                             {"line", site.line},
                             {"inuse_space", json_rounded(site.live_bytes)}});
  }
  return json;
}

// What is not as we write it throws Json::exception.
Estimate estimate_from(const nlohmann::json& json) {
  Estimate estimate;
  estimate.value = json.at("value").get<double>();
  estimate.low = estimate.high = estimate.value;
  estimate.has_interval = !json.at("low").is_null() && !json.at("high").is_null();
  if (estimate.has_interval) {
    estimate.low = json.at("low").get<double>();
    estimate.high = json.at("high").get<double>();
  }
  return estimate;
}

void read_look(const nlohmann::json& json, SeriesLook* look) {
  look->time_unix_ns = json.at("time_unix_ns").get<uint64_t>();
  look->processes = json.at("processes").get<uint64_t>();
  for (const auto& [name, estimate] : json.at("totals").items()) {
    // A version to come may have more of them.
    if (const auto metric = metric_from_file(name)) look->totals[*metric] = estimate_from(estimate);
  }
  look->system = json.at("system").get<SystemFigures>();
  for (const nlohmann::json& site : json.at("sites")) {
    look->sites.push_back({site.at("function").get<std::string>(), site.at("file").get<std::string>(),
                           site.at("module").get<std::string>(), site.at("line").get<int64_t>(),
                           site.at("inuse_space").get<double>()});
  }
}

}  // namespace

std::string series_facts_json(const Series& series) {
  return json_to_text(facts_of(series));
}

std::string series_look_json(const SeriesLook& look) {
  return json_to_text(figures_json(look));
}

bool parse_series_facts(const std::string& text, Series* series) {
  try {
    const nlohmann::json json = json_from_text(text);
    if (json.at("series").get<int>() != kVersion) return false;
    series->program = json.at("program").get<std::string>();
    series->pid = json.at("pid").get<uint64_t>();
    series->every_ns = json.at("every_ns").get<uint64_t>();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

bool parse_series_look(const std::string& text, SeriesLook* look) {
  try {
    read_look(json_from_text(text), look);
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::string series_json(const Series& series) {
  Json json = facts_of(series);
  json["cut_bytes"] = series.cut_bytes;
  json["looks"] = Json::array();
  for (const SeriesLook& look : series.looks) json["looks"].push_back(figures_json(look));
  return json_to_text(json, 2) + "\n";
}

}  // namespace memprof::profile
