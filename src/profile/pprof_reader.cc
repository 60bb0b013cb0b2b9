// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>

#include "profile/gzip.h"
#include "profile/inprocess/pprof_schema.h"
#include "profile/metric.h"
#include "profile/pprof_statistics.h"

namespace memprof::profile {
namespace {

namespace field = schema::profile_field;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Field number and wire type in one: a field of the wrong type is not the field that we know.
constexpr uint32_t number_field(uint32_t tag) {
  return protozero::tag_and_type(tag, pbf_wire_type::varint);
}
constexpr uint32_t bytes_field(uint32_t tag) {
  return protozero::tag_and_type(tag, pbf_wire_type::length_delimited);
}

// Calls each(uint64_t) for a repeated integer, packed or not.  False: the reader is not at that field.
template <typename Each>
bool read_repeated(pbf_reader& reader, uint32_t tag, const Each& each) {
  if (reader.tag_and_type() == number_field(tag)) {
    each(reader.get_uint64());
    return true;
  }
  if (reader.tag_and_type() == bytes_field(tag)) {
    for (const uint64_t value : reader.get_packed_uint64()) {
      each(value);
    }
    return true;
  }
  return false;
}

// The ids of one kind of entity, which are any numbers but 0, as indices.
class Ids {
 public:
  // False: the id is 0 or taken.
  bool add(uint64_t id) {
    return id != 0 && index_of_.emplace(id, static_cast<uint32_t>(index_of_.size())).second;
  }

  std::optional<uint32_t> find(uint64_t id) const {
    const auto found = index_of_.find(id);
    return found == index_of_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<uint64_t, uint32_t> index_of_;
};

uint64_t hash_of(const std::vector<uint32_t>& locations) {
  uint64_t hash = locations.size();
  for (const uint32_t location : locations) {
    hash = (hash ^ location) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

uint64_t hash_of(const std::vector<Label>& labels) {
  uint64_t hash = labels.size();
  for (const Label& label : labels) {
    const std::hash<std::string> text_hash;
    for (const uint64_t part : {uint64_t{text_hash(label.key)}, uint64_t{text_hash(label.text)},
                                static_cast<uint64_t>(label.number), uint64_t{text_hash(label.unit)}}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

bool same_labels(const std::vector<Label>& a, const std::vector<Label>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Label& x, const Label& y) {
    return x.key == y.key && x.text == y.text && x.number == y.number && x.unit == y.unit;
  });
}

// How well a sample type fits a metric: our own names before the names that others use for live memory.
struct MetricMatch {
  Metric metric;
  int rank;
};

std::optional<MetricMatch> match_metric(std::string_view type) {
  if (const auto metric = metric_from_name(type)) {
    return MetricMatch{*metric, 2};
  }
  if (type == "objects") {
    return MetricMatch{Metric::kInuseObjects, 1};
  }
  if (type == "space") {
    return MetricMatch{Metric::kInuseSpace, 1};
  }
  return std::nullopt;
}

constexpr uint64_t kHashEntryBytes = 64;  // roughly, with its share of the buckets

class Reader {
 public:
  Reader(std::string_view data, const ReadOptions& options)
      : data_(data), memory_left_(options.max_model_bytes) {}

  // Fields may come in any order, hence one pass for each kind that others refer to.
  Profile read() {
    pass([this](pbf_reader& reader) { return read_string(reader); });
    if (strings_.empty() || !strings_[0].empty()) {
      throw Error("not a pprof profile: it has no string table");
    }
    pass([this](pbf_reader& reader) { return read_header(reader); });
    match_sample_types();
    pass([this](pbf_reader& reader) { return read_location(reader); });
    pass([this](pbf_reader& reader) { return read_sample(reader); });
    for (const std::string_view comment : comments_) {
      statistics_.comment(comment, profile_);
    }
    if (!has_space_period_) {
      profile_.rate_bytes = 0;
    }
    statistics_.apply(profile_, samples_of_);
    return std::move(profile_);
  }

 private:
  // `take` returns whether it took the field.
  template <typename Take>
  void pass(const Take& take) {
    pbf_reader reader(data_.data(), data_.size());
    while (reader.next()) {
      if (!take(reader)) {
        reader.skip();
      }
    }
  }

  // What the file makes us hold is counted, because a few bytes can ask for much.
  void charge(uint64_t bytes) {
    if (bytes > memory_left_) {
      throw Error("too large: reading it would take more memory than is allowed");
    }
    memory_left_ -= bytes;
  }

  std::string_view string(uint64_t index) const {
    if (index >= strings_.size()) {
      throw Error(fmt::format("damaged pprof profile: string {} of {}", index, strings_.size()));
    }
    return strings_[index];
  }

  std::string copy(uint64_t index) {
    const std::string_view text = string(index);
    charge(text.size());
    return std::string(text);
  }

  bool read_string(pbf_reader& reader) {
    if (reader.tag_and_type() != bytes_field(field::kStringTable)) {
      return false;
    }
    charge(sizeof(std::string_view));
    const auto view = reader.get_view();
    strings_.emplace_back(view.data(), view.size());
    return true;
  }

  bool read_header(pbf_reader& reader) {
    if (read_repeated(reader, field::kComment, [this](uint64_t index) {
          charge(sizeof(std::string_view));
          comments_.push_back(string(index));
        })) {
      return true;
    }
    switch (reader.tag_and_type()) {
      case bytes_field(field::kSampleType): {
        charge(sizeof(std::string_view));
        sample_types_.push_back(string(read_value_type(reader.get_message()).first));
        return true;
      }
      case bytes_field(field::kPeriodType): {
        const auto [type, unit] = read_value_type(reader.get_message());
        has_space_period_ = string(type) == "space" && string(unit) == "bytes";
        return true;
      }
      case bytes_field(field::kMapping):
        read_mapping(reader.get_message());
        return true;
      case bytes_field(field::kFunction):
        read_function(reader.get_message());
        return true;
      case number_field(field::kDropFrames):
        profile_.drop_frames = copy(reader.get_uint64());
        return true;
      case number_field(field::kKeepFrames):
        profile_.keep_frames = copy(reader.get_uint64());
        return true;
      case number_field(field::kTimeNanos):
        profile_.time_unix_ns = reader.get_uint64();
        return true;
      case number_field(field::kDurationNanos):
        profile_.duration_ns = reader.get_uint64();
        return true;
      case number_field(field::kPeriod):
        profile_.rate_bytes = static_cast<uint64_t>(std::max<int64_t>(0, reader.get_int64()));
        return true;
      default:
        return false;
    }
  }

  static std::pair<uint64_t, uint64_t> read_value_type(pbf_reader reader) {
    std::pair<uint64_t, uint64_t> result;
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::value_type_field::kType):
          result.first = reader.get_uint64();
          break;
        case number_field(schema::value_type_field::kUnit):
          result.second = reader.get_uint64();
          break;
        default:
          reader.skip();
      }
    }
    return result;
  }

  void read_mapping(pbf_reader reader) {
    charge(2 * sizeof(Mapping));
    uint64_t id = 0;
    Mapping& mapping = profile_.mappings.emplace_back();
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::mapping_field::kId):
          id = reader.get_uint64();
          break;
        case number_field(schema::mapping_field::kStart):
          mapping.start = reader.get_uint64();
          break;
        case number_field(schema::mapping_field::kLimit):
          mapping.limit = reader.get_uint64();
          break;
        case number_field(schema::mapping_field::kFileOffset):
          mapping.file_offset = reader.get_uint64();
          break;
        case number_field(schema::mapping_field::kFilename):
          mapping.path = copy(reader.get_uint64());
          break;
        case number_field(schema::mapping_field::kBuildId):
          mapping.build_id = copy(reader.get_uint64());
          break;
        case number_field(schema::mapping_field::kHasFunctions):
          mapping.has_functions = reader.get_bool();
          break;
        case number_field(schema::mapping_field::kHasFilenames):
          mapping.has_filenames = reader.get_bool();
          break;
        case number_field(schema::mapping_field::kHasLineNumbers):
          mapping.has_line_numbers = reader.get_bool();
          break;
        case number_field(schema::mapping_field::kHasInlineFrames):
          mapping.has_inline_frames = reader.get_bool();
          break;
        default:
          reader.skip();
      }
    }
    add_id(mapping_ids_, id, "mapping");
  }

  void read_function(pbf_reader reader) {
    charge(2 * sizeof(Function));
    uint64_t id = 0;
    Function& function = profile_.functions.emplace_back();
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::function_field::kId):
          id = reader.get_uint64();
          break;
        case number_field(schema::function_field::kName):
          function.name = copy(reader.get_uint64());
          break;
        case number_field(schema::function_field::kSystemName):
          function.system_name = copy(reader.get_uint64());
          break;
        case number_field(schema::function_field::kFilename):
          function.filename = copy(reader.get_uint64());
          break;
        case number_field(schema::function_field::kStartLine):
          function.start_line = reader.get_int64();
          break;
        default:
          reader.skip();
      }
    }
    add_id(function_ids_, id, "function");
  }

  bool read_location(pbf_reader& outer) {
    if (outer.tag_and_type() != bytes_field(field::kLocation)) {
      return false;
    }
    pbf_reader reader = outer.get_message();
    charge(2 * sizeof(Location));
    uint64_t id = 0;
    Location& location = profile_.locations.emplace_back();
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::location_field::kId):
          id = reader.get_uint64();
          break;
        case number_field(schema::location_field::kMappingId):
          if (const uint64_t mapping = reader.get_uint64()) {
            location.mapping = index_of(mapping_ids_, mapping, "mapping");
          }
          break;
        case number_field(schema::location_field::kAddress):
          location.address = reader.get_uint64();
          break;
        case bytes_field(schema::location_field::kLine):
          charge(2 * sizeof(Line));
          location.lines.push_back(read_line(reader.get_message()));
          break;
        case number_field(schema::location_field::kIsFolded):
          location.is_folded = reader.get_bool();
          break;
        default:
          reader.skip();
      }
    }
    add_id(location_ids_, id, "location");
    return true;
  }

  Line read_line(pbf_reader reader) const {
    Line line;
    uint64_t function = 0;
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::line_field::kFunctionId):
          function = reader.get_uint64();
          break;
        case number_field(schema::line_field::kLine):
          line.line = reader.get_int64();
          break;
        default:
          reader.skip();
      }
    }
    line.function = index_of(function_ids_, function, "function");
    return line;
  }

  bool read_sample(pbf_reader& outer) {
    if (outer.tag_and_type() != bytes_field(field::kSample)) {
      return false;
    }
    pbf_reader reader = outer.get_message();
    sample_locations_.clear();
    sample_values_.clear();
    std::vector<Label> labels;
    while (reader.next()) {
      if (read_repeated(reader, schema::sample_field::kLocationId,
                        [this](uint64_t id) {
                          sample_locations_.push_back(index_of(location_ids_, id, "location"));
                        }) ||
          read_repeated(reader, schema::sample_field::kValue, [this](uint64_t value) {
            if (sample_values_.size() <= sample_types_.size()) {  // one too many is enough to tell
              sample_values_.push_back(static_cast<int64_t>(value));
            }
          })) {
        continue;
      }
      if (reader.tag_and_type() == bytes_field(schema::sample_field::kLabel)) {
        labels.push_back(read_label(reader.get_message()));
      } else {
        reader.skip();
      }
    }
    if (sample_values_.size() != sample_types_.size()) {
      throw Error(fmt::format("damaged pprof profile: a sample has {} values for {} sample types",
                              sample_values_.size() < sample_types_.size() ? "too few" : "too many",
                              sample_types_.size()));
    }
    add_sample(std::move(labels));
    return true;
  }

  Label read_label(pbf_reader reader) {
    charge(2 * sizeof(Label));
    Label label;
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::label_field::kKey):
          label.key = copy(reader.get_uint64());
          break;
        case number_field(schema::label_field::kText):
          label.text = copy(reader.get_uint64());
          break;
        case number_field(schema::label_field::kNumber):
          label.number = reader.get_int64();
          break;
        case number_field(schema::label_field::kUnit):
          label.unit = copy(reader.get_uint64());
          break;
        default:
          reader.skip();
      }
    }
    return label;
  }

  void add_sample(std::vector<Label> labels) {
    const uint32_t index = stack_of_sample();
    Stack& stack = profile_.stacks[index];
    ++samples_of_[index];
    LabeledValues& part = part_of_sample(index, std::move(labels));
    for (const Metric metric : kMetrics) {
      const size_t i = metric_index(metric);
      if (profile_.has_metric[i]) {
        const auto value = static_cast<double>(sample_values_[column_[i]]);
        part.values[i] += value;
        stack.values[i] += value;
      }
    }
  }

  // The part of the stack that has these labels.
  LabeledValues& part_of_sample(uint32_t stack_index, std::vector<Label> labels) {
    Stack& stack = profile_.stacks[stack_index];
    const uint64_t hash = hash_of(labels) ^ uint64_t { stack_index } << 32;
    const auto [first, last] = parts_by_hash_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      if (known->second < stack.parts.size() && same_labels(stack.parts[known->second].labels, labels)) {
        return stack.parts[known->second];
      }
    }
    charge(2 * sizeof(LabeledValues) + kHashEntryBytes);
    parts_by_hash_.emplace(hash, static_cast<uint32_t>(stack.parts.size()));
    return stack.parts.emplace_back(LabeledValues{std::move(labels), {}});
  }

  // The stack with the locations of the sample that was just read; a new one if there is none.
  uint32_t stack_of_sample() {
    const uint64_t hash = hash_of(sample_locations_);
    const auto [first, last] = stacks_by_hash_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      if (profile_.stacks[known->second].locations == sample_locations_) {
        return known->second;
      }
    }
    charge(2 * sizeof(Stack) + kHashEntryBytes + sample_locations_.size() * sizeof(uint32_t));
    const auto index = static_cast<uint32_t>(profile_.stacks.size());
    stacks_by_hash_.emplace(hash, index);
    profile_.stacks.emplace_back().locations = sample_locations_;
    samples_of_.push_back(0);
    return index;
  }

  void match_sample_types() {
    if (sample_types_.empty()) {
      throw Error("not a pprof profile: it has no sample types");
    }
    std::array<int, kMetricCount> ranks{};
    for (size_t column = 0; column < sample_types_.size(); ++column) {
      const auto match = match_metric(sample_types_[column]);
      if (match && match->rank > ranks[metric_index(match->metric)]) {
        ranks[metric_index(match->metric)] = match->rank;
        profile_.has_metric[metric_index(match->metric)] = true;
        column_[metric_index(match->metric)] = column;
      }
    }
    if (profile_.has_metric == std::array<bool, kMetricCount>{}) {
      std::string types;
      for (size_t i = 0; i < sample_types_.size() && i < 8; ++i) {
        types += fmt::format("{}{}", i == 0 ? "" : ", ", sample_types_[i].substr(0, 64));
      }
      throw Error(fmt::format("a pprof profile, but not of memory: its sample types are {}", types));
    }
  }

  void add_id(Ids& ids, uint64_t id, const char* kind) {
    charge(kHashEntryBytes);
    if (!ids.add(id)) {
      throw Error(fmt::format("damaged pprof profile: {} id {} is {}", kind, id,
                              id == 0 ? "not allowed" : "used twice"));
    }
  }

  static uint32_t index_of(const Ids& ids, uint64_t id, const char* kind) {
    const std::optional<uint32_t> index = ids.find(id);
    if (!index) {
      throw Error(fmt::format("damaged pprof profile: there is no {} {}", kind, id));
    }
    return *index;
  }

  std::string_view data_;
  uint64_t memory_left_;
  Profile profile_;
  StatisticsReader statistics_;
  bool has_space_period_ = false;
  std::vector<std::string_view> strings_;
  std::vector<std::string_view> comments_;
  std::vector<std::string_view> sample_types_;
  std::array<size_t, kMetricCount> column_{};
  Ids mapping_ids_, function_ids_, location_ids_;
  std::unordered_multimap<uint64_t, uint32_t> stacks_by_hash_;
  std::unordered_multimap<uint64_t, uint32_t> parts_by_hash_;
  std::vector<uint32_t> samples_of_;  // by stack
  std::vector<uint32_t> sample_locations_;
  std::vector<int64_t> sample_values_;
};

// What a file that is no profile looks like, to help whoever gave the wrong one.
const char* other_kind(std::string_view data) {
  const auto begins = [data](std::string_view prefix) { return data.substr(0, prefix.size()) == prefix; };
  if (begins("heap profile:") || begins("heap_v2/") || begins("--- heap")) {
    return " (it looks like a text heap profile: `pprof -proto` converts it)";
  }
  if (begins("{") || begins("[")) {
    return " (it looks like JSON)";
  }
  if (begins("\x7f"
             "ELF")) {
    return " (it is a program or library)";
  }
  return "";
}

}  // namespace

Profile read_pprof(std::string_view data, const std::string& name, const ReadOptions& options) {
  if (data.empty()) {
    throw Error(name + ": the file is empty");
  }
  std::string unpacked;
  if (is_gzip(data)) {
    constexpr uint64_t kAlwaysAllowed = uint64_t{64} << 20;
    const uint64_t by_ratio = std::max(kAlwaysAllowed, data.size() * options.max_ratio);
    unpacked = gunzip(data, name, std::min(options.max_decompressed_bytes, by_ratio));
    data = unpacked;
    if (data.empty()) {
      throw Error(name + ": the file is empty inside its gzip");
    }
  }
  try {
    return Reader(data, options).read();
  } catch (const protozero::exception&) {
    throw Error(fmt::format("{}: not a pprof profile, or a truncated one{}", name, other_kind(data)));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

Profile read_pprof_file(const std::string& path, const ReadOptions& options) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  std::string data;
  if (file != nullptr) {
    std::string buffer(size_t{1} << 18, '\0');
    while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
      data.append(buffer, 0, got);
      if (data.size() > options.max_decompressed_bytes) {
        throw Error(fmt::format("{}: larger than {} bytes", path, options.max_decompressed_bytes));
      }
    }
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    throw Error(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  }
  return read_pprof(data, path, options);
}

}  // namespace memprof::profile
