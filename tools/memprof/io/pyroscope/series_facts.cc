// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/series_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

constexpr char kTypeLabel[] = "__profile_type__";
// Parts of the profile type, and what the server adds.
constexpr const char* kOfTheType[] = {kTypeLabel,        "__name__",        "__type__",        "__unit__",
                                      "__period_type__", "__period_unit__", "__service_name__"};
constexpr const char* kOfALook[] = {"memory_pressure", "memory_stalled", "oom_killed"};

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The array of that name; an empty one where it is not there: JSON of protobuf leaves out what is empty.
nlohmann::json list_of(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_array() ? *found : nlohmann::json::array();
}

// Numbers of 64 bits are texts in the JSON of protobuf, and so are those that are none ("NaN").
double number_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? std::strtod(found->get<std::string>().c_str(), nullptr) : 0;
}

std::vector<std::string> parts_of(const std::string& type) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= type.size()) {
    const size_t end = std::min(type.find(':', begin), type.size());
    parts.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct SeriesPoints {
  std::map<std::string, std::string> labels;
  std::map<std::string, double> values;  // by time
};

std::vector<SeriesPoints> points_of(const nlohmann::json& answer) {
  std::vector<SeriesPoints> all;
  for (const nlohmann::json& series : list_of(answer, "series")) {
    SeriesPoints one;
    for (const nlohmann::json& label : list_of(series, "labels")) {
      one.labels[text_of(label, "name")] = text_of(label, "value");
    }
    for (const nlohmann::json& point : list_of(series, "points")) {
      const auto time = point.find("timestamp");
      one.values[time == point.end() ? std::string() : time->dump()] = number_of(point, "value");
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string key_of(const std::map<std::string, std::string>& labels) {
  std::string key;
  for (const auto& [name, value] : labels) key += name + '\0' + value + '\0';
  return key;
}

}  // namespace

SeriesFacts series_facts(const nlohmann::json& answer, const std::string& name, const std::string& address) {
  SeriesFacts facts;
  std::map<std::string, std::map<profile::Metric, std::string>> by_name;
  for (const nlohmann::json& labels : list_of(answer, "labelsSet")) {
    std::string type;
    std::map<std::string, std::string> own;
    for (const nlohmann::json& label : list_of(labels, "labels")) {
      own[text_of(label, "name")] = text_of(label, "value");
    }
    type = own[kTypeLabel];
    const std::vector<std::string> parts = parts_of(type);
    constexpr size_t kParts = 5;
    const auto metric = parts.size() == kParts ? profile::metric_from_file(parts[1]) : std::nullopt;
    const bool is_known = metric && parts[2] == profile::metric_unit(*metric);
    if (!is_known || (!name.empty() && parts[0] != name)) {
      facts.other_types.insert(type);
      continue;
    }
    by_name[parts[0]][*metric] = type;
    for (const auto& [label, value] : own) {
      const auto is_it = [&one = label](const char* of_the_type) { return one == of_the_type; };
      if (std::none_of(std::begin(kOfTheType), std::end(kOfTheType), is_it)) {
        facts.labels[label].insert(value);
      }
    }
  }
  if (by_name.size() > 1) {
    std::string names;
    for (const auto& [one, types] : by_name) names += (names.empty() ? "" : ", ") + one;
    throw Failure(address + ": has profiles of memory by several names: " + names +
                  "; choose one with name=" + by_name.begin()->first);
  }
  if (!by_name.empty()) facts.types = std::move(by_name.begin()->second);
  return facts;
}

std::vector<std::string> counted_labels(const SeriesFacts& facts) {
  std::vector<std::string> names;
  for (const auto& [name, values] : facts.labels) {
    const auto is_it = [&one = name](const char* of_a_look) { return one == of_a_look; };
    if (std::none_of(std::begin(kOfALook), std::end(kOfALook), is_it)) names.push_back(name);
  }
  return names;
}

std::string looker_label(const SeriesFacts& facts) {
  for (const char* const name : {"host", "host_name", "instance", "pod"}) {
    if (facts.labels.count(name) != 0) return name;
  }
  return "";
}

void count_looks(const nlohmann::json& sums, const nlohmann::json& averages, const std::string& looker,
                 LookCounts* counts) {
  std::map<std::string, std::map<std::string, double>> means;
  for (SeriesPoints& series : points_of(averages)) {
    means[key_of(series.labels)] = std::move(series.values);
  }
  for (const SeriesPoints& series : points_of(sums)) {
    const auto found = means.find(key_of(series.labels));
    if (found == means.end()) continue;
    const auto own = series.labels.find(looker);
    auto& steps = (*counts)[own == series.labels.end() ? key_of(series.labels) : own->second];
    for (const auto& [time, sum] : series.values) {
      const auto mean = found->second.find(time);
      if (mean == found->second.end() || mean->second == 0) continue;
      const double looks = std::round(sum / mean->second);
      constexpr double kMaxLooks = 1e12;
      if (!std::isfinite(looks) || looks < 1 || looks >= kMaxLooks) continue;
      uint64_t& count = steps[time];
      count = std::max(count, static_cast<uint64_t>(looks));
    }
  }
}

LookRange look_range(const LookCounts& counts) {
  LookRange range;
  for (const auto& [looker, steps] : counts) {
    uint64_t looks = 0;
    for (const auto& [time, count] : steps) looks += count;
    if (looks == 0) continue;
    range.most = std::max(range.most, looks);
    range.fewest = range.fewest == 0 ? looks : std::min(range.fewest, looks);
  }
  return range;
}

}  // namespace memprof::cli
