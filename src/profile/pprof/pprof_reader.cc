// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "format/pprof/pprof_schema.h"
#include "profile/files/gzip.h"
#include "profile/files/read_budget.h"
#include "profile/foreign/profile_bytes.h"
#include "profile/foreign/sample_type.h"
#include "profile/model/metric.h"
#include "profile/names/place_names.h"
#include "profile/pprof/ids/location_reader.h"
#include "profile/pprof/pprof_fields.h"
#include "profile/pprof/pprof_statistics.h"
#include "profile/pprof/pprof_tables.h"
#include "profile/pprof/stack_folder.h"

namespace memprof::profile {
namespace {

namespace field = schema::profile_field;
using protozero::pbf_reader;

// A sample type, and its unit.
struct SampleType {
  std::string_view name;
  std::string_view unit;
};

// A vector that grows moves what it has, into pages that nobody had touched.
constexpr size_t kMaxReservedStacks = size_t{1} << 19;

class Reader {
 public:
  Reader(std::string_view data, uint64_t max_model_bytes, const std::string& only)
      : data_(data), budget_(max_model_bytes), only_(only) {}

  // Fields may come in any order, hence one pass for each kind that others refer to.
  Profile read() {
    pass([this](pbf_reader& reader) { return tables_.read_string(reader); });
    if (!tables_.has_strings()) {
      throw Error("not a pprof profile: it has no string table");
    }
    pass([this](pbf_reader& reader) { return read_header(reader); });
    match_sample_types();
    pass([this](pbf_reader& reader) { return tables_.read_location(reader); });
    profile_.stacks.reserve(std::min(samples_, kMaxReservedStacks));
    pass([this](pbf_reader& reader) { return read_sample(reader); });
    for (const std::string_view comment : comments_) {
      statistics_.comment(comment, profile_);
    }
    if (!has_space_period_) {
      profile_.rate_bytes = 0;
    }
    statistics_.apply(profile_, folder_.samples_of());
    if (profile_.from_memprof) drop_place_names(&profile_);
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

  bool read_header(pbf_reader& reader) {
    if (read_repeated(reader, field::kComment, [this](uint64_t index) {
          budget_.charge(sizeof(std::string_view));
          comments_.push_back(tables_.string(index));
        })) {
      return true;
    }
    switch (reader.tag_and_type()) {
      case bytes_field(field::kSample):
        ++samples_;
        return false;
      case bytes_field(field::kSampleType): {
        budget_.charge(sizeof(SampleType));
        const auto [type, unit] = read_value_type(reader.get_message());
        sample_types_.push_back({tables_.string(type), tables_.string(unit)});
        return true;
      }
      case bytes_field(field::kPeriodType): {
        const auto [type, unit] = read_value_type(reader.get_message());
        has_space_period_ = tables_.string(type) == "space" && tables_.string(unit) == "bytes";
        return true;
      }
      case number_field(field::kDefaultSampleType):
        default_type_ = tables_.string(reader.get_uint64());
        return true;
      case number_field(field::kDropFrames):
        profile_.drop_frames = tables_.copy(reader.get_uint64());
        return true;
      case number_field(field::kKeepFrames):
        profile_.keep_frames = tables_.copy(reader.get_uint64());
        return true;
      case number_field(field::kDocUrl):
        profile_.doc_url = tables_.copy(reader.get_uint64());
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
        return tables_.read_mapping_or_function(reader);
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

  bool read_sample(pbf_reader& outer) {
    if (outer.tag_and_type() != bytes_field(field::kSample)) {
      return false;
    }
    pbf_reader reader = outer.get_message();
    locations_.start();
    sample_values_.clear();
    std::vector<Label> labels;
    while (reader.next()) {
      if (reader.tag_and_type() == bytes_field(schema::sample_field::kLocationId)) {
        const auto ids = reader.get_view();
        locations_.add_packed({ids.data(), ids.size()});
        continue;
      }
      if (reader.tag_and_type() == number_field(schema::sample_field::kLocationId)) {
        locations_.add(reader.get_uint64());
        continue;
      }
      if (read_repeated(reader, schema::sample_field::kValue, [this](uint64_t value) {
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
    std::array<double, kMetricCount> values{};
    for (const Metric metric : kMetrics) {
      const size_t i = metric_index(metric);
      if (profile_.has_metric[i]) {
        for (const auto& [column, factor] : columns_[i]) {
          values[i] += static_cast<double>(sample_values_[column]) * factor;
        }
      }
    }
    locations_.finish();
    folder_.add(locations_.locations(), locations_.hash(), std::move(labels), values);
    return true;
  }

  Label read_label(pbf_reader reader) {
    budget_.charge(2 * sizeof(Label));
    Label label;
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::label_field::kKey):
          label.key = tables_.copy(reader.get_uint64());
          break;
        case number_field(schema::label_field::kText):
          label.text = tables_.copy(reader.get_uint64());
          break;
        case number_field(schema::label_field::kNumber):
          label.number = reader.get_int64();
          break;
        case number_field(schema::label_field::kUnit):
          label.unit = tables_.copy(reader.get_uint64());
          break;
        default:
          reader.skip();
      }
    }
    return label;
  }

  void match_sample_types() {
    if (sample_types_.empty()) {
      throw Error("not a pprof profile: it has no sample types");
    }
    std::array<int, kMetricCount> ranks{};
    for (size_t column = 0; column < sample_types_.size(); ++column) {
      const auto match = match_sample_type(sample_types_[column].name, sample_types_[column].unit);
      if (match && (only_.empty() || sample_types_[column].name == only_)) use_column(column, *match, &ranks);
    }
    if (profile_.has_metric == std::array<bool, kMetricCount>{}) {
      use_type(only_.empty() ? default_type_ : std::string_view(only_), &ranks);
    }
    if (profile_.has_metric == std::array<bool, kMetricCount>{}) {
      std::string types;
      for (size_t i = 0; i < sample_types_.size() && i < 8; ++i) {
        types += fmt::format("{}{}", i == 0 ? "" : ", ", sample_types_[i].name.substr(0, 64));
      }
      throw Error(only_.empty()
                      ? fmt::format("a pprof profile, but not of memory: its sample types are {}", types)
                      : fmt::format("no sample type '{}' in bytes or blocks; there are {}", only_, types));
    }
  }

  // The best match of a metric; several that are parts of one metric are added up.
  void use_column(size_t column, const SampleTypeMatch& match, std::array<int, kMetricCount>* ranks) {
    const size_t metric = metric_index(match.metric);
    if (match.rank < (*ranks)[metric] || (match.rank == (*ranks)[metric] && !match.is_part)) return;
    if (match.rank > (*ranks)[metric]) columns_[metric].clear();
    (*ranks)[metric] = match.rank;
    profile_.has_metric[metric] = true;
    columns_[metric].push_back({column, match.factor});
  }

  // A type that no table has, and that the file itself puts first, or that is asked for: its unit says what it counts.
  void use_type(std::string_view type, std::array<int, kMetricCount>* ranks) {
    for (size_t column = 0; column < sample_types_.size(); ++column) {
      if (type.empty() || sample_types_[column].name != type) continue;
      const auto match = match_unit(sample_types_[column].unit);
      if (match) use_column(column, *match, ranks);
      return;
    }
  }

  std::string_view data_;
  ReadBudget budget_;
  const std::string& only_;
  Profile profile_;
  PprofTables tables_{profile_, budget_};
  LocationReader locations_{[this](uint64_t id) { return tables_.location(id); }};
  StackFolder folder_{profile_.stacks, budget_};
  StatisticsReader statistics_{&budget_};
  bool has_space_period_ = false;
  size_t samples_ = 0;
  std::vector<std::string_view> comments_;
  struct Column {
    size_t column;
    double factor;
  };
  std::vector<SampleType> sample_types_;
  std::string_view default_type_;
  std::array<std::vector<Column>, kMetricCount> columns_{};
  std::vector<int64_t> sample_values_;
};

Profile read_with_limit(std::string_view data, const std::string& name, uint64_t max_model_bytes,
                        const ReadOptions& options) {
  try {
    return Reader(data, max_model_bytes, options.sample_type).read();
  } catch (const protozero::exception&) {
    throw no_profile(name, data);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace

Profile read_pprof(std::string_view data, const std::string& name, const ReadOptions& options) {
  if (!data.empty() && !is_gzip(data)) {
    return read_with_limit(data, name, model_limit(options, data.size()), options);
  }
  return read_unpacked_pprof(unpack_profile(std::string(data), name, options, Accept::kPprof), name, options);
}

Profile read_unpacked_pprof(const ProfileBytes& bytes, const std::string& name, const ReadOptions& options) {
  return read_with_limit(bytes.data, name, model_limit(options, bytes.stored_bytes), options);
}

Profile read_pprof_file(const std::string& path, const ReadOptions& options) {
  return read_unpacked_pprof(read_profile_bytes(path, options, Accept::kPprof), path, options);
}

}  // namespace memprof::profile
