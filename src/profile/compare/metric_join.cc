// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/metric_join.h"

#include <utility>

namespace memprof::profile {
namespace {

// Parts of a key; none of them has a zero byte.
void add_part(const std::string& part, std::string* key) {
  *key += part;
  *key += '\0';
}

}  // namespace

uint32_t MetricJoin::mapping_of(const Mapping& mapping) {
  std::string key;
  add_part(mapping.path, &key);
  add_part(mapping.build_id, &key);
  add_part(std::to_string(mapping.file_offset), &key);
  const auto [place, is_new] =
      mappings_.emplace(std::move(key), static_cast<uint32_t>(joined_.mappings.size()));
  if (is_new) joined_.mappings.push_back(mapping);
  return place->second;
}

uint32_t MetricJoin::function_of(const Function& function) {
  std::string key;
  add_part(function.name, &key);
  add_part(function.system_name, &key);
  add_part(function.filename, &key);
  add_part(std::to_string(function.start_line), &key);
  const auto [place, is_new] =
      functions_.emplace(std::move(key), static_cast<uint32_t>(joined_.functions.size()));
  if (is_new) joined_.functions.push_back(function);
  return place->second;
}

uint32_t MetricJoin::location_of(const Profile& profile, const Location& location,
                                 const std::vector<uint32_t>& mappings) {
  Location own = location;
  own.mapping = location.mapping < mappings.size() ? mappings[location.mapping] : kNoMapping;
  own.lines.clear();
  std::string key;
  add_part(std::to_string(own.mapping), &key);
  for (const Line& line : location.lines) {
    if (line.function >= profile.functions.size()) continue;
    own.lines.push_back({function_of(profile.functions[line.function]), line.line});
    add_part(std::to_string(own.lines.back().function), &key);
    add_part(std::to_string(line.line), &key);
  }
  if (own.lines.empty()) add_part(std::to_string(location.address), &key);
  const auto [place, is_new] =
      locations_.emplace(std::move(key), static_cast<uint32_t>(joined_.locations.size()));
  if (is_new) joined_.locations.push_back(std::move(own));
  return place->second;
}

void MetricJoin::add(const Profile& profile, double looks) {
  if (!std::exchange(is_begun_, true)) {
    joined_.program = profile.program;
    joined_.rate_bytes = profile.rate_bytes;
    joined_.drop_frames = profile.drop_frames;
    joined_.keep_frames = profile.keep_frames;
  }
  for (size_t i = 0; i < kMetricCount; ++i) joined_.has_metric[i] |= profile.has_metric[i];
  std::vector<uint32_t> mappings;
  for (const Mapping& mapping : profile.mappings) mappings.push_back(mapping_of(mapping));
  std::vector<uint32_t> locations;
  for (const Location& location : profile.locations) {
    locations.push_back(location_of(profile, location, mappings));
  }
  for (Stack stack : profile.stacks) {
    for (uint32_t& location : stack.locations) location = locations[location];
    for (double& value : stack.values) value /= looks;
    for (LabeledValues& part : stack.parts) {
      for (double& value : part.values) value /= looks;
    }
    sums_.add(std::move(stack));
  }
}

Profile MetricJoin::take() {
  return std::move(joined_);
}

}  // namespace memprof::profile
