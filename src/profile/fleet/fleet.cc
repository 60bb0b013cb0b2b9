// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "profile/model/metric.h"
#include "profile/significance/benjamini_hochberg.h"
#include "profile/significance/spread_test.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

constexpr double kFalseAlarms = 0.05;  // of what is named, at most this share
constexpr double kMinSamples = 10;
constexpr double kMinShare = 0.001;
constexpr size_t kMinHosts = 4;  // for one to be an outlier
constexpr char kAll[] = "(all)";

template <typename Functions>
double value_at(const Functions& functions, uint32_t index) {
  const auto found = functions.find(index);
  return found == functions.end() ? 0 : found->second;
}

Sample sample_of(const std::vector<double>& values) {
  Sample sample;
  sample.count = static_cast<double>(values.size());
  for (const double value : values) {
    sample.sum += value;
    sample.squares += value * value;
  }
  return sample;
}

Sample without(Sample sample, double value) {
  sample.count -= 1;
  sample.sum -= value;
  sample.squares -= value * value;
  return sample;
}

template <typename Row>
void keep_significant(std::vector<Row> rows, std::vector<Row>* kept) {
  std::vector<double> p_values;
  for (const Row& row : rows) p_values.push_back(row.p_value);
  const std::vector<double> corrected = benjamini_hochberg(p_values);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].p_value = corrected[i];
    if (corrected[i] <= kFalseAlarms) kept->push_back(std::move(rows[i]));
  }
}

}  // namespace

std::optional<std::map<std::string, std::string>> shipped_labels(const Profile& profile) {
  constexpr std::string_view kBegin = kLabelsComment;
  for (const std::string& comment : profile.comments) {
    if (comment.compare(0, kBegin.size(), kBegin) != 0) continue;
    try {
      return json_from_text(comment.substr(kBegin.size())).get<std::map<std::string, std::string>>();
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string label_of(const std::map<std::string, std::string>& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

std::string labels_key(const std::map<std::string, std::string>& labels) {
  std::string key;
  for (const auto& [name, value] : labels) key += name + '\0' + value + '\0';
  return key;
}

std::string innermost_function(const Profile& profile, const Stack& stack) {
  if (stack.locations.empty()) return "?";
  const Location& location = profile.locations[stack.locations[0]];
  if (location.lines.empty()) return "?";
  return profile.functions[location.lines[0].function].name;
}

uint32_t Fleet::index_of(const std::string& function) {
  const auto [place, is_new] = indices_.emplace(function, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(function);
  return place->second;
}

bool Fleet::add(const Profile& profile) {
  const auto labels = shipped_labels(profile);
  if (!labels) return false;
  ++files_;
  first_ns_ = std::min(first_ns_, profile.time_unix_ns);
  last_ns_ = std::max(last_ns_, profile.time_unix_ns);
  Service& service = services_[label_of(*labels, "service_name")];
  service.rate_bytes = std::max(service.rate_bytes, profile.rate_bytes);
  Version& version = service.versions[label_of(*labels, version_label_)];
  version.first_ns = std::min(version.first_ns, profile.time_unix_ns);
  Series& series = version.series[labels_key(*labels)];
  series.host = label_of(*labels, "host");
  ++series.looks;
  const uint32_t all = index_of(kAll);
  for (const Stack& stack : profile.stacks) {
    const double live = stack.values[metric_index(Metric::kInuseSpace)];
    service.allocated_bytes += stack.values[metric_index(Metric::kAllocSpace)];
    if (live == 0) continue;
    series.sums[index_of(innermost_function(profile, stack))] += live;
    series.sums[all] += live;
  }
  return true;
}

Fleet::Hosts Fleet::hosts_of(const Version& version) {
  Hosts hosts;
  for (const auto& [key, series] : version.series) {
    Functions& functions = hosts[series.host];
    for (const auto& [index, sum] : series.sums) functions[index] += sum / static_cast<double>(series.looks);
  }
  return hosts;
}

// Of a host that had several versions, one after the other, their mean, by looks.
Fleet::Hosts Fleet::hosts_of(const Service& service) {
  Hosts hosts;
  std::map<std::string, double> looks;
  for (const auto& [name, version] : service.versions) {
    std::map<std::string, double> of_version;
    for (const auto& [key, series] : version.series) {
      double& looks_of_host = of_version[series.host];
      looks_of_host = std::max(looks_of_host, static_cast<double>(series.looks));
    }
    for (const auto& [host, functions] : hosts_of(version)) {
      for (const auto& [index, bytes] : functions) hosts[host][index] += bytes * of_version[host];
      hosts[host];
    }
    for (const auto& [host, count] : of_version) looks[host] += count;
  }
  for (auto& [host, functions] : hosts) {
    for (auto& [index, bytes] : functions) bytes /= looks[host];
  }
  return hosts;
}

void Fleet::add_outliers(const std::string& name, const Service& service, FleetResult* result) const {
  const Hosts hosts = hosts_of(service);
  if (hosts.size() < kMinHosts) return;
  std::set<uint32_t> indices;
  for (const auto& [host, functions] : hosts) {
    for (const auto& [index, bytes] : functions) indices.insert(index);
  }
  const uint32_t all = indices_.at(kAll);
  std::vector<FleetOutlier> rows;
  for (const uint32_t index : indices) {
    std::vector<double> values;
    for (const auto& [host, functions] : hosts) values.push_back(value_at(functions, index));
    const Sample sample = sample_of(values);
    size_t at = 0;
    for (const auto& [host, functions] : hosts) {
      const double value = values[at++];
      const Sample others = without(sample, value);
      FleetOutlier row{name, host, functions_[index], value, others.sum / others.count, 1};
      const double difference = value - row.others_bytes;
      const double min = std::max(kMinSamples * static_cast<double>(service.rate_bytes),
                                  kMinShare * value_at(functions, all));
      // What is not named is a test all the same.
      if (difference >= min) row.p_value = spread_test(sample_of({value}), others).p_value / 2;
      rows.push_back(std::move(row));
    }
  }
  keep_significant(std::move(rows), &result->outliers);
}

void Fleet::add_changes(const std::string& name, const Service& service, FleetResult* result) const {
  std::vector<std::pair<std::string, const Version*>> versions;
  for (const auto& [version, content] : service.versions) versions.emplace_back(version, &content);
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return a.second->first_ns < b.second->first_ns; });
  const auto all = indices_.find(kAll);
  for (size_t i = 1; i < versions.size(); ++i) {
    const Hosts before = hosts_of(*versions[i - 1].second);
    const Hosts after = hosts_of(*versions[i].second);
    if (before.size() < 2 || after.size() < 2) continue;
    std::set<uint32_t> indices;
    for (const Hosts* hosts : {&before, &after}) {
      for (const auto& [host, functions] : *hosts) {
        for (const auto& [index, bytes] : functions) indices.insert(index);
      }
    }
    const auto sample = [](const Hosts& hosts, uint32_t index) {
      std::vector<double> values;
      for (const auto& [host, functions] : hosts) values.push_back(value_at(functions, index));
      return sample_of(values);
    };
    std::vector<FleetChange> rows;
    const Sample whole = sample(before, all->second);
    for (const uint32_t index : indices) {
      const Sample a = sample(before, index);
      const Sample b = sample(after, index);
      const SpreadTest test = spread_test(a, b);
      FleetChange row{name,
                      functions_[index],
                      versions[i - 1].first,
                      versions[i].first,
                      a.sum / a.count,
                      b.sum / b.count,
                      test.half_width,
                      1};
      const double difference = std::abs(row.after_bytes - row.before_bytes);
      // Ten samples over all hosts.
      const double min =
          std::max(kMinSamples * static_cast<double>(service.rate_bytes) / std::min(a.count, b.count),
                   kMinShare * whole.sum / whole.count);
      if (difference >= min) row.p_value = test.p_value;
      rows.push_back(std::move(row));
    }
    keep_significant(std::move(rows), &result->changes);
  }
}

FleetResult Fleet::result() const {
  FleetResult result;
  result.files = files_;
  result.first_ns = files_ == 0 ? 0 : first_ns_;
  result.last_ns = last_ns_;
  std::set<std::string> hosts;
  for (const auto& [name, service] : services_) {
    FleetService sums;
    sums.name = name;
    sums.allocated_bytes = service.allocated_bytes;
    for (const auto& [version, content] : service.versions) {
      for (const auto& [key, series] : content.series) sums.looks += series.looks;
    }
    for (const auto& [host, functions] : hosts_of(service)) {
      hosts.insert(host);
      ++sums.hosts;
      sums.live_bytes += value_at(functions, indices_.at(kAll));
    }
    result.services.push_back(std::move(sums));
    add_outliers(name, service, &result);
    add_changes(name, service, &result);
  }
  result.hosts = hosts.size();
  std::sort(result.services.begin(), result.services.end(),
            [](const auto& a, const auto& b) { return a.live_bytes > b.live_bytes; });
  std::sort(result.outliers.begin(), result.outliers.end(),
            [](const auto& a, const auto& b) { return a.bytes - a.others_bytes > b.bytes - b.others_bytes; });
  std::sort(result.changes.begin(), result.changes.end(), [](const auto& a, const auto& b) {
    return std::abs(a.after_bytes - a.before_bytes) > std::abs(b.after_bytes - b.before_bytes);
  });
  return result;
}

}  // namespace memprof::profile
