// SPDX-License-Identifier: Apache-2.0
#include "profile/otlp/otlp_writer.h"

#include <charconv>
#include <cmath>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "profile/model/metric.h"
#include "profile/names/characters/character_width.h"
#include "profile/otlp/otlp_fields.h"

namespace memprof::profile {
namespace {

using protozero::pbf_writer;
using Index = int32_t;  // into a table of the dictionary; 0: none

constexpr char kScopeName[] = "memprof";
constexpr char kBuildIdKey[] = "process.executable.build_id.gnu";
// As the labels of samples in pprof.
constexpr char kHeapKey[] = "heap";
constexpr char kProcessKey[] = "process";

int64_t whole(double value) {
  constexpr double kLimit = 0x1p62;
  return std::llround(std::fmin(std::fmax(value, -kLimit), kLimit));
}

bool is_increment(Metric metric) {
  return metric == Metric::kAllocObjects || metric == Metric::kAllocSpace;
}

std::string any_value(const OtlpAttribute& attribute) {
  std::string bytes;
  pbf_writer value(bytes);
  int64_t number = 0;
  if (attribute.is_number) {
    const char* const end = attribute.text.data() + attribute.text.size();
    const auto [last, error] = std::from_chars(attribute.text.data(), end, number);
    if (error == std::errc() && last == end) {
      value.add_int64(otlp::any_value_field::kInt, number);
      return bytes;
    }
  }
  value.add_string(otlp::any_value_field::kString, valid_utf8(attribute.text));
  return bytes;
}

// The tables: what is asked for goes into them when it is new.
class Dictionary {
 public:
  explicit Dictionary(const Profile& profile)
      : profile_(profile),
        writer_(bytes_),
        mappings_(profile.mappings.size()),
        functions_(profile.functions.size()),
        locations_(profile.locations.size()) {
    namespace field = otlp::dictionary_field;
    // The first of each table is that of the index 0.
    for (const auto table : {field::kMappingTable, field::kLocationTable, field::kFunctionTable,
                             field::kStringTable, field::kAttributeTable, field::kStackTable}) {
      writer_.add_bytes(table, std::string());
    }
    std::string link;
    pbf_writer(link).add_bytes(otlp::link_field::kTraceId, std::string(16, '\0'));
    pbf_writer(link).add_bytes(otlp::link_field::kSpanId, std::string(8, '\0'));
    writer_.add_message(field::kLinkTable, link);
    strings_.emplace("", 0);
  }

  Index string(const std::string& text) {
    const auto known = strings_.find(text);
    if (known != strings_.end()) return known->second;
    const auto index = static_cast<Index>(strings_.size());
    strings_.emplace(text, index);
    writer_.add_string(otlp::dictionary_field::kStringTable, valid_utf8(text));
    return index;
  }

  Index attribute(const std::string& key, const std::string& text) {
    const auto [known, is_new] =
        attributes_.emplace(std::make_pair(key, text), static_cast<Index>(attributes_.size() + 1));
    if (!is_new) return known->second;
    std::string bytes;
    pbf_writer message(bytes);
    message.add_int32(otlp::dictionary_attribute_field::kKey, string(key));
    message.add_message(otlp::dictionary_attribute_field::kValue, any_value({key, text}));
    writer_.add_message(otlp::dictionary_field::kAttributeTable, bytes);
    return known->second;
  }

  Index stack(const std::vector<uint32_t>& locations) {
    const auto [known, is_new] = stacks_.emplace(locations, static_cast<Index>(stacks_.size() + 1));
    if (!is_new) return known->second;
    std::vector<Index> indices;
    for (const uint32_t at : locations) indices.push_back(location(at));
    std::string bytes;
    pbf_writer(bytes).add_packed_int32(otlp::stack_field::kLocationIndices, indices.begin(), indices.end());
    writer_.add_message(otlp::dictionary_field::kStackTable, bytes);
    return known->second;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  // Of a part of the profile that has its number in the table, or 0 as long as it is not there.
  struct Table {
    explicit Table(size_t size) : indices(size) {}
    std::vector<Index> indices;
    Index last = 0;
  };

  Index mapping(uint32_t at) {
    if (at >= mappings_.indices.size()) return 0;
    Index& index = mappings_.indices[at];
    if (index != 0) return index;
    namespace field = otlp::mapping_field;
    const Mapping& mapping = profile_.mappings[at];
    std::string bytes;
    pbf_writer message(bytes);
    message.add_uint64(field::kMemoryStart, mapping.start);
    message.add_uint64(field::kMemoryLimit, mapping.limit);
    message.add_uint64(field::kFileOffset, mapping.file_offset);
    message.add_int32(field::kFilename, string(mapping.path));
    if (!mapping.build_id.empty()) {
      const Index build_id = attribute(kBuildIdKey, mapping.build_id);
      message.add_packed_int32(field::kAttributeIndices, &build_id, &build_id + 1);
    }
    writer_.add_message(otlp::dictionary_field::kMappingTable, bytes);
    return index = ++mappings_.last;
  }

  Index function(uint32_t at) {
    if (at >= functions_.indices.size()) return 0;
    Index& index = functions_.indices[at];
    if (index != 0) return index;
    namespace field = otlp::function_field;
    const Function& function = profile_.functions[at];
    std::string bytes;
    pbf_writer message(bytes);
    message.add_int32(field::kName, string(function.name));
    message.add_int32(field::kSystemName, string(function.system_name));
    message.add_int32(field::kFilename, string(function.filename));
    message.add_int64(field::kStartLine, function.start_line);
    writer_.add_message(otlp::dictionary_field::kFunctionTable, bytes);
    return index = ++functions_.last;
  }

  Index location(uint32_t at) {
    if (at >= locations_.indices.size()) return 0;
    Index& index = locations_.indices[at];
    if (index != 0) return index;
    namespace field = otlp::location_field;
    const Location& location = profile_.locations[at];
    std::string bytes;
    pbf_writer message(bytes);
    message.add_int32(field::kMappingIndex, mapping(location.mapping));
    message.add_uint64(field::kAddress, location.address);
    for (const Line& line : location.lines) {
      std::string line_bytes;
      pbf_writer line_message(line_bytes);
      line_message.add_int32(otlp::line_field::kFunctionIndex, function(line.function));
      line_message.add_int64(otlp::line_field::kLine, line.line);
      message.add_message(field::kLines, line_bytes);
    }
    writer_.add_message(otlp::dictionary_field::kLocationTable, bytes);
    return index = ++locations_.last;
  }

  const Profile& profile_;
  std::string bytes_;
  pbf_writer writer_;
  Table mappings_;
  Table functions_;
  Table locations_;
  std::unordered_map<std::string, Index> strings_;
  std::map<std::pair<std::string, std::string>, Index> attributes_;
  std::map<std::vector<uint32_t>, Index> stacks_;
};

// The profile of one sample type; empty: no stack has anything of it.
std::string profile_of_type(const Profile& profile, Metric metric, const OtlpOptions& options,
                            Dictionary* dictionary) {
  // A stack under one set of attributes is one sample.
  std::map<std::pair<Index, std::vector<Index>>, int64_t> values;
  for (const Stack& stack : profile.stacks) {
    const int64_t value = whole(stack.values[metric_index(metric)]);
    if (value == 0) continue;
    std::vector<Index> attributes;
    if (!stack.heap.empty()) attributes.push_back(dictionary->attribute(kHeapKey, stack.heap));
    if (!stack.process.empty()) attributes.push_back(dictionary->attribute(kProcessKey, stack.process));
    values[{dictionary->stack(stack.locations), std::move(attributes)}] += value;
  }
  if (values.empty()) return {};
  namespace field = otlp::profile_field;
  const auto value_type = [&](const char* type, const char* unit) {
    std::string bytes;
    pbf_writer message(bytes);
    message.add_int32(otlp::value_type_field::kType, dictionary->string(type));
    message.add_int32(otlp::value_type_field::kUnit, dictionary->string(unit));
    return bytes;
  };
  std::string bytes;
  pbf_writer message(bytes);
  message.add_message(field::kSampleType, value_type(metric_name(metric), metric_unit(metric)));
  for (const auto& [identity, value] : values) {
    const auto& [stack, attributes] = identity;
    std::string sample_bytes;
    pbf_writer sample(sample_bytes);
    sample.add_int32(otlp::sample_field::kStackIndex, stack);
    sample.add_packed_int32(otlp::sample_field::kAttributeIndices, attributes.begin(), attributes.end());
    sample.add_packed_int64(otlp::sample_field::kValues, &value, &value + 1);
    message.add_message(field::kSamples, sample_bytes);
  }
  message.add_fixed64(field::kTimeUnixNano, profile.time_unix_ns);
  if (is_increment(metric)) message.add_uint64(field::kDurationNano, profile.duration_ns);
  message.add_message(field::kPeriodType, value_type("space", "bytes"));
  message.add_int64(field::kPeriod, static_cast<int64_t>(profile.rate_bytes));
  std::string id;
  const auto add_to_id = [&id](uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8) id += static_cast<char>(number >> shift & 0xff);
  };
  add_to_id(options.writer_id);
  add_to_id(options.sequence << 8 | metric_index(metric));
  message.add_bytes(field::kProfileId, id);
  return bytes;
}

std::string resource(const std::vector<OtlpAttribute>& attributes) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const OtlpAttribute& attribute : attributes) {
    std::string key_value_bytes;
    pbf_writer key_value(key_value_bytes);
    key_value.add_string(otlp::key_value_field::kKey, valid_utf8(attribute.key));
    key_value.add_message(otlp::key_value_field::kValue, any_value(attribute));
    message.add_message(otlp::resource_field::kAttributes, key_value_bytes);
  }
  return bytes;
}

}  // namespace

OtlpRequest write_otlp(const Profile& profile, const OtlpOptions& options) {
  OtlpRequest request;
  Dictionary dictionary(profile);
  std::string scope;
  pbf_writer(scope).add_string(otlp::scope_field::kName, kScopeName);
  pbf_writer(scope).add_string(otlp::scope_field::kVersion, options.scope_version);
  std::string scope_profiles_bytes;
  pbf_writer scope_profiles(scope_profiles_bytes);
  scope_profiles.add_message(otlp::scope_profiles_field::kScope, scope);
  for (const Metric metric : kMetrics) {
    const std::string one = profile_of_type(profile, metric, options, &dictionary);
    if (one.empty()) continue;
    scope_profiles.add_message(otlp::scope_profiles_field::kProfiles, one);
    ++request.profiles;
  }
  if (request.profiles == 0) return request;
  std::string resource_profiles_bytes;
  pbf_writer resource_profiles(resource_profiles_bytes);
  resource_profiles.add_message(otlp::resource_profiles_field::kResource, resource(options.resource));
  resource_profiles.add_message(otlp::resource_profiles_field::kScopeProfiles, scope_profiles_bytes);
  pbf_writer message(request.bytes);
  message.add_message(otlp::request_field::kResourceProfiles, resource_profiles_bytes);
  message.add_message(otlp::request_field::kDictionary, dictionary.bytes());
  return request;
}

}  // namespace memprof::profile
