// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/passing/passing_profile.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "profile/pprof/packed_statistics.h"
#include "profile/pprof/pprof_fields.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_statistics.h"

namespace memprof::profile {
namespace {

namespace field = schema::profile_field;
using protozero::pbf_reader;

// "#memprof.stack id=..."
bool is_of_stack(std::string_view text) {
  constexpr std::string_view kBegin = kStackComment;
  return text.size() > kBegin.size() && text.substr(0, kBegin.size()) == kBegin && text[kBegin.size()] == ' ';
}

// The first field; the others are read when the comment is packed.
std::optional<uint64_t> id_of(std::string_view text) {
  constexpr std::string_view kKey = " id=";
  text.remove_prefix(std::min(text.size(), sizeof(kStackComment) - 1));
  if (text.substr(0, kKey.size()) != kKey) return std::nullopt;
  text.remove_prefix(kKey.size());
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  return id;
}

// Packed already: of a profile that was written outside the process.
bool is_of_stacks(std::string_view text) {
  constexpr std::string_view kBegin = kStacksComment;
  return text.substr(0, kBegin.size()) == kBegin;
}

// Comments lie in the file in the order of its stacks, and are read in that of their ids: memory is asked for some of them
// ahead.
void prefetch(std::string_view text) {
  constexpr size_t kLineBytes = 64;
  for (size_t i = 0; i < text.size(); i += kLineBytes) __builtin_prefetch(text.data() + i);
}

}  // namespace

// One pass over the file.  What is neither a sample nor of one stack goes into a small file, which is read as any.
class PassingReader {
 public:
  explicit PassingReader(std::string_view pprof) : pprof_(pprof), rest_writer_(rest_) {}

  std::optional<PassingProfile> read(const std::string& name) {
    pbf_reader reader(pprof_.data(), pprof_.size());
    for (const char* begin = pprof_.data(); reader.next(); begin = reader.data().data()) {
      if (!take(reader)) return std::nullopt;
      const char* const end = reader.data().data();
      if (is_sample_) {
        if (samples_end_ != nullptr && samples_end_ != begin) return std::nullopt;  // they are not in a row
        if (samples_end_ == nullptr) samples_begin_ = begin;
        samples_end_ = end;
      } else if (is_rest_) {
        rest_.append(begin, end);
      }
    }
    if (!begin_samples() || !take_comments()) return std::nullopt;  // there may be no sample
    // What other fields a sample type must have is not looked at before.
    result_.profile_ = read_pprof(rest_, name);
    if (!result_.profile_.from_memprof || result_.profile_.locations.size() != locations_) {
      return std::nullopt;
    }
    for (size_t i = 0; i < kMetricCount; ++i) {
      const bool is_column =
          std::find(columns_.begin(), columns_.end(), static_cast<Metric>(i)) != columns_.end();
      if (result_.profile_.has_metric[i] != is_column) return std::nullopt;
    }
    if (samples_begin_ != nullptr) {
      result_.samples_ = {samples_begin_, static_cast<size_t>(samples_end_ - samples_begin_)};
    }
    add_totals_apart();
    return std::move(result_);
  }

 private:
  // Reads one field.  false: such a profile does not pass.
  bool take(pbf_reader& reader) {
    is_sample_ = false;
    is_rest_ = true;
    switch (reader.tag_and_type()) {
      case bytes_field(field::kStringTable):
        is_rest_ = false;
        take_string(reader);
        return true;
      case bytes_field(field::kSampleType):
        return take_sample_type(reader.get_message());
      case bytes_field(field::kSample):
        is_sample_ = true;
        return begin_samples() && take_sample(reader.get_message());
      case bytes_field(field::kLocation):
        return location_id(reader.get_message()) == ++locations_;
      case number_field(field::kPeriod):
        period_ = reader.get_uint64();
        return true;
      case number_field(field::kComment):
        is_rest_ = false;
        comments_.push_back(reader.get_uint64());
        return true;
      case bytes_field(field::kComment):
        return false;
      default:
        reader.skip();
        return true;
    }
  }

  void take_string(pbf_reader& reader) {
    const auto view = reader.get_view();
    strings_.emplace_back(view.data(), view.size());
    // Indices stay what they are.
    rest_writer_.add_bytes(field::kStringTable, is_of_stack(strings_.back()) ? "" : view.data(),
                           is_of_stack(strings_.back()) ? 0 : view.size());
  }

  // In the order in which they are written again.
  bool take_sample_type(pbf_reader reader) {
    uint64_t type = 0;
    while (reader.next()) {
      if (reader.tag_and_type() == number_field(schema::value_type_field::kType)) {
        type = reader.get_uint64();
      } else {
        reader.skip();
      }
    }
    const auto metric = type < strings_.size() ? metric_from_file(strings_[type]) : std::nullopt;
    if (!metric || metric_index(*metric) >= kFileMetrics) return false;
    if (!columns_.empty() && columns_.back() >= *metric) return false;
    columns_.push_back(*metric);
    return samples_begin_ == nullptr;
  }

  // What labels refer to stands before the first of them.
  bool begin_samples() {
    if (!result_.strings_.empty()) return true;
    if (strings_.size() < schema::kFixedStringCount || columns_.size() < kFirstMetrics) return false;
    for (size_t i = 0; i < schema::kFixedStringCount; ++i) {
      if (strings_[i] != schema::kFixedStrings[i]) return false;
    }
    result_.strings_ = strings_;
    return true;
  }

  bool take_sample(pbf_reader reader) {
    size_t values = 0;
    LiveGroup live{0, period_, 1};
    bool is_live = false;
    while (reader.next()) {
      if (reader.tag_and_type() == bytes_field(schema::sample_field::kValue)) {
        for (const uint64_t value : reader.get_packed_uint64()) {
          if (values == columns_.size()) return false;
          result_.totals_[metric_index(columns_[values++])] +=
              static_cast<double>(static_cast<int64_t>(value));
        }
      } else if (reader.tag_and_type() == bytes_field(schema::sample_field::kLabel)) {
        if (!take_label(reader.get_message(), &live, &is_live)) return false;
      } else {
        reader.skip();
      }
    }
    if (is_live) result_.without_statistics_.add_live(live);
    return values == columns_.size();
  }

  bool take_label(pbf_reader reader, LiveGroup* live, bool* is_live) const {
    uint64_t key = 0;
    uint64_t number = 0;
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case number_field(schema::label_field::kKey):
          key = reader.get_uint64();
          break;
        case number_field(schema::label_field::kNumber):
          number = reader.get_uint64();
          break;
        case number_field(schema::label_field::kText):
        case number_field(schema::label_field::kUnit):
          if (reader.get_uint64() >= result_.strings_.size()) return false;
          break;
        default:
          return false;
      }
    }
    if (key == schema::kBytes) {
      live->size_bytes = number;
      *is_live = true;
    } else if (key == schema::kRate) {
      live->rate_bytes = number;
    } else if (key == schema::kSamples) {
      live->samples = number;
    } else {
      return key == schema::kHeap || key == schema::kProcess;
    }
    return true;
  }

  static uint64_t location_id(pbf_reader reader) {
    while (reader.next()) {
      if (reader.tag_and_type() == number_field(schema::location_field::kId)) return reader.get_uint64();
      reader.skip();
    }
    return 0;
  }

  bool take_comments() {
    for (const uint64_t index : comments_) {
      if (index >= strings_.size() || is_of_stacks(strings_[index])) return false;
      const std::string_view text = strings_[index];
      if (!is_of_stack(text)) {
        rest_writer_.add_uint64(field::kComment, index);
        continue;
      }
      const auto id = id_of(text);
      if (!id) return false;
      result_.comments_.emplace_back(*id, text);
    }
    // All are views of one file: those of one id stay in its order.
    std::sort(result_.comments_.begin(), result_.comments_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : std::less<>()(a.second.data(), b.second.data());
    });
    return true;
  }

  void add_totals_apart() {
    Stack stack;
    stack.has_statistics = true;
    for (const Metric metric : kMetrics) {
      if (metric_is_apart(metric)) stack.values[metric_index(metric)] = result_.total(metric);
    }
    result_.without_statistics_.add(stack);
  }

  const std::string_view pprof_;
  PassingProfile result_;
  std::string rest_;
  protozero::pbf_writer rest_writer_;
  std::vector<std::string_view> strings_;
  std::vector<uint64_t> comments_;
  std::vector<Metric> columns_;
  uint64_t period_ = 0;
  uint64_t locations_ = 0;
  const char* samples_begin_ = nullptr;
  const char* samples_end_ = nullptr;
  bool is_sample_ = false;  // of the field that was read last
  bool is_rest_ = false;
};

std::optional<PassingProfile> PassingProfile::read(std::string_view pprof, const std::string& name) {
  try {
    return PassingReader(pprof).read(name);
  } catch (const protozero::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::string> PassingProfile::pack_comments(Accumulator* sum) const {
  std::vector<uint64_t> ids;
  for (const Comment& comment : comments_) {
    if (ids.empty() || ids.back() != comment.first) ids.push_back(comment.first);
  }
  size_t next = 0;  // of comments_
  const auto statistics_of = [&](size_t i) {
    constexpr size_t kAhead = 8;
    if (next + kAhead < comments_.size()) prefetch(comments_[next + kAhead].second);
    std::optional<StackStatistics> sums;
    for (; next < comments_.size() && comments_[next].first == ids[i]; ++next) {
      auto own = statistics_from_comment(comments_[next].second);
      if (own && sums) {
        add_statistics(own->statistics, &*sums);
      } else if (own) {
        sums = std::move(own->statistics);
      }
    }
    // Of a damaged comment there is nothing, which whoever reads it does not take for the stack's.
    StackStatistics statistics = sums ? std::move(*sums) : StackStatistics();
    sum->add_allocated(statistics.allocated);
    sum->add_peak(statistics.peak);
    return as_packed(std::move(statistics), profile_.rate_bytes);
  };
  return pack_statistics(ids, statistics_of, profile_.rate_bytes);
}

Accumulator PassingProfile::write(const PprofWriteOptions& options, const Sink& to) const {
  Accumulator sum = without_statistics_;
  const WrittenSamples samples{strings_, samples_, [&] { return pack_comments(&sum); }};
  write_pprof(profile_, options, to, &samples);
  return sum;
}

}  // namespace memprof::profile
