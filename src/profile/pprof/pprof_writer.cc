// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_writer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "format/pprof/proto_encoder.h"
#include "format/pprof/sample_writer.h"
#include "profile/files/gzip.h"
#include "profile/model/estimate.h"
#include "profile/model/mapped.h"
#include "profile/model/metric.h"
#include "profile/model/name_evidence.h"
#include "profile/names/place_names.h"
#include "profile/pprof/ids/stack_ids.h"
#include "profile/pprof/packed_statistics.h"
#include "profile/pprof/pprof_statistics.h"
#include "profile/view/shared_sizes.h"

namespace memprof::profile {
namespace {

namespace field = schema::profile_field;
using wire::Message;

int64_t to_integer(double value) {
  constexpr double kLimit = 0x1p62;
  return std::llround(std::fmin(std::fmax(value, -kLimit), kLimit));
}

class Writer {
 public:
  Writer(const Profile& profile, const PprofWriteOptions& options, const Sink& to,
         const WrittenSamples* samples)
      : profile_(profile),
        options_(options),
        samples_(samples),
        buffer_(size_t{256} << 10),
        output_(buffer_.data(), buffer_.size(), to) {
    if (options.names_places) places_ = place_functions(profile);
  }

  void write() {
    if (samples_ != nullptr) {
      for (const std::string_view text : samples_->strings) add_string(text);
    } else {
      for (const char* text : schema::kFixedStrings) string(text);
    }
    choose_metrics();
    write_header();
    write_mappings();
    write_functions();
    write_locations();
    if (samples_ != nullptr) {
      output_.raw(samples_->fields.data(), samples_->fields.size());
    } else {
      write_samples();
    }
    write_comments();
    output_.flush();
  }

 private:
  static constexpr size_t kLineBytes = 40;

  // Index of a text in the string table, into which it goes when it is new.
  uint32_t string(std::string_view text) {
    const auto known = strings_.find(text);
    return known != strings_.end() ? known->second : add_string(text);
  }

  // Of equal ones the first is found again.
  uint32_t add_string(std::string_view text) {
    output_.bytes_field(field::kStringTable, text.data(), text.size());
    strings_.emplace(text, next_string_);
    return next_string_++;
  }

  // Exact statistics need all four; a profile by others keeps the sample types it had.
  void choose_metrics() {
    has_metric_ = profile_.has_metric;
    std::fill(has_metric_.begin() + kFileMetrics, has_metric_.end(), false);
    bool all = has_metric_ == std::array<bool, kMetricCount>{};
    for (const Stack& stack : profile_.stacks) {
      all = all || stack.has_statistics;
    }
    if (all) {
      std::fill_n(has_metric_.begin(), kFirstMetrics, true);
      has_metric_[metric_index(Metric::kPeakObjects)] = has_metric_[metric_index(Metric::kPeakSpace)];
      // Each with its number, and what is resident with what is mapped.
      const size_t mapped = mapped_count();
      for (size_t i = 0; i < schema::kMappedCount; ++i) {
        has_metric_[metric_index(Metric::kMappedObjects) + i] = i < mapped;
      }
      has_metric_[metric_index(Metric::kResidentObjects)] = has_metric_[metric_index(Metric::kResidentSpace)];
    }
  }

  size_t mapped_count() const {
    return schema::mapped_count(has_metric_[metric_index(Metric::kMappedSpace)],
                                has_metric_[metric_index(Metric::kMappedResidentSpace)]);
  }

  void write_value_type(uint32_t number, std::string_view type, std::string_view unit) {
    uint8_t memory[64];
    Message message(memory, sizeof(memory));
    message.field(schema::value_type_field::kType, string(type));
    message.field(schema::value_type_field::kUnit, string(unit));
    output_.message_field(number, message);
  }

  void write_header() {
    uint32_t default_type = 0;
    for (const Metric metric : kMetrics) {
      if (has_metric_[metric_index(metric)]) {
        write_value_type(field::kSampleType, metric_name(metric), metric_unit(metric));
        // The last: inuse_space where there is one; of what has ended, its peak.
        const bool is_default =
            metric_is_optional(metric) ? default_type == 0 : !metric_is_peak(metric) || profile_.has_ended;
        if (is_default) default_type = string(metric_name(metric));
      }
    }
    if (options_.metric) default_type = string(metric_name(*options_.metric));
    if (!profile_.drop_frames.empty()) {
      output_.field(field::kDropFrames, string(profile_.drop_frames));
    } else if (profile_.from_memprof) {
      output_.field(field::kDropFrames, schema::kDropFrames);
    }
    if (!profile_.keep_frames.empty()) {
      output_.field(field::kKeepFrames, string(profile_.keep_frames));
    }
    if (!profile_.doc_url.empty()) {
      output_.field(field::kDocUrl, string(profile_.doc_url));
    }
    output_.field(field::kTimeNanos, profile_.time_unix_ns);
    output_.field(field::kDurationNanos, profile_.duration_ns);
    write_value_type(field::kPeriodType, schema::kFixedStrings[schema::kSpace],
                     schema::kFixedStrings[schema::kBytes]);
    output_.field(field::kPeriod, profile_.rate_bytes);
    output_.field(field::kDefaultSampleType, default_type);
  }

  void write_mappings() {
    const std::vector<NameEvidence> evidence = name_evidence(profile_);
    for (size_t i = 0; i < profile_.mappings.size(); ++i) {
      const Mapping& mapping = profile_.mappings[i];
      // Another writer's flags are passed through: they can say "tried, and there was nothing".
      const bool all = !profile_.from_memprof;
      uint8_t memory[128];
      Message message(memory, sizeof(memory));
      message.field(schema::mapping_field::kId, i + 1);
      message.field(schema::mapping_field::kStart, mapping.start);
      message.field(schema::mapping_field::kLimit, mapping.limit);
      message.field(schema::mapping_field::kFileOffset, mapping.file_offset);
      message.field(schema::mapping_field::kFilename, string(mapping.path));
      message.field(schema::mapping_field::kBuildId, string(mapping.build_id));
      message.field(schema::mapping_field::kHasFunctions,
                    mapping.has_functions && (all || evidence[i].functions));
      message.field(schema::mapping_field::kHasFilenames,
                    mapping.has_filenames && (all || evidence[i].filenames));
      message.field(schema::mapping_field::kHasLineNumbers,
                    mapping.has_line_numbers && (all || evidence[i].line_numbers));
      message.field(schema::mapping_field::kHasInlineFrames,
                    mapping.has_inline_frames && (all || evidence[i].inline_frames));
      output_.message_field(field::kMapping, message);
    }
  }

  void write_function(uint64_t id, const Function& function) {
    uint8_t memory[128];
    Message message(memory, sizeof(memory));
    message.field(schema::function_field::kId, id);
    message.field(schema::function_field::kName, string(function.name));
    const bool is_cut = function.system_name == function.name &&
                        schema::is_cut_by_pprof(function.name.data(), function.name.size());
    message.field(schema::function_field::kSystemName,
                  is_cut ? schema::kEmpty : string(function.system_name));
    message.field(schema::function_field::kFilename, string(function.filename));
    message.field(schema::function_field::kStartLine, static_cast<uint64_t>(function.start_line));
    output_.message_field(field::kFunction, message);
  }

  void write_functions() {
    for (size_t i = 0; i < profile_.functions.size(); ++i) write_function(i + 1, profile_.functions[i]);
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i].name.empty()) write_function(function_of_place(i), places_[i]);
    }
  }

  // Behind the others.
  uint64_t function_of_place(size_t location) const { return profile_.functions.size() + location + 1; }

  static void write_line(uint64_t function, int64_t line, Message* location) {
    uint8_t memory[kLineBytes];
    Message message(memory, sizeof(memory));
    message.field(schema::line_field::kFunctionId, function);
    message.field(schema::line_field::kLine, static_cast<uint64_t>(line));
    location->message_field(schema::location_field::kLine, message);
  }

  void write_locations() {
    std::vector<uint8_t> memory;
    for (size_t i = 0; i < profile_.locations.size(); ++i) {
      const Location& location = profile_.locations[i];
      memory.resize(64 + kLineBytes * (location.lines.size() + 1));
      Message message(memory.data(), memory.size());
      message.field(schema::location_field::kId, i + 1);
      if (location.mapping != kNoMapping) {
        message.field(schema::location_field::kMappingId, uint64_t{location.mapping} + 1);
      }
      message.field(schema::location_field::kAddress, location.address);
      for (const Line& line : location.lines) write_line(uint64_t{line.function} + 1, line.line, &message);
      if (!places_.empty() && !places_[i].name.empty()) write_line(function_of_place(i), 0, &message);
      message.field(schema::location_field::kIsFolded, location.is_folded);
      output_.message_field(field::kLocation, message);
    }
  }

  void write_samples() {
    size_t deepest = 0;
    for (const Stack& stack : profile_.stacks) {
      deepest = std::max(deepest, stack.locations.size());
    }
    std::vector<uint8_t> memory(max_sample_bytes(deepest));
    SampleWriter samples(output_, memory.data(), memory.size(), profile_.rate_bytes,
                         has_metric_[metric_index(Metric::kPeakSpace)], mapped_count(),
                         has_metric_[metric_index(Metric::kResidentSpace)],
                         has_metric_[metric_index(Metric::kJsSpace)]);
    const LiveSamples live = options_.shares_sizes ? share_live_samples(profile_) : LiveSamples();
    for (size_t at = 0; at < profile_.stacks.size(); ++at) {
      const Stack& stack = profile_.stacks[at];
      ids_.clear();
      for (const uint32_t location : stack.locations) {
        ids_.push_back(location + 1);
      }
      if (!stack.has_statistics) {
        write_parts(stack);
        continue;
      }
      samples.set_stack(ids_.data(), ids_.size());
      samples.set_heap(stack.heap.empty() ? schema::kEmpty : string(stack.heap));
      samples.set_process(stack.process.empty() ? schema::kEmpty : string(stack.process));
      const bool is_mapped =
          has_mapped_values(stack.values) && has_metric_[metric_index(Metric::kMappedSpace)];
      if (is_mapped) {
        int64_t mapped[schema::kMappedCount];
        for (size_t i = 0; i < schema::kMappedCount; ++i) {
          mapped[i] = to_integer(stack.values[metric_index(Metric::kMappedObjects) + i]);
        }
        samples.mapped(mapped);
      }
      const bool is_js = has_js_values(stack.values) && has_metric_[metric_index(Metric::kJsSpace)];
      if (is_js) {
        samples.js(to_integer(stack.values[metric_index(Metric::kJsSpace)]));
      }
      const double resident_bytes = stack.values[metric_index(Metric::kResidentSpace)];
      const double resident_blocks = stack.values[metric_index(Metric::kResidentObjects)];
      const bool is_resident =
          (resident_blocks != 0 || resident_bytes != 0) && has_metric_[metric_index(Metric::kResidentSpace)];
      const bool has_totals = stack.allocated.samples != 0 || stack.peak.samples != 0 || is_resident;
      if (has_totals || (stack.live.empty() && !is_mapped && !is_js)) {
        samples.running_totals(stack.allocated.weight_count, stack.allocated.weight_bytes,
                               stack.peak.weight_count, stack.peak.weight_bytes, resident_blocks,
                               resident_bytes);
      }
      for (const LiveGroup& group : live.shared.empty() ? stack.live : live.shared[at]) {
        const double blocks =
            static_cast<double>(group.samples) / sampling_probability(group.size_bytes, group.rate_bytes);
        samples.live(group.size_bytes, group.rate_bytes, group.samples, blocks + live.blocks_each,
                     blocks * static_cast<double>(group.size_bytes) + live.bytes_each);
      }
    }
  }

  void write_parts(const Stack& stack) {
    if (stack.parts.empty()) {
      write_values(stack, {}, stack.values);
    }
    for (const LabeledValues& part : stack.parts) {
      write_values(stack, part.labels, part.values);
    }
  }

  void write_values(const Stack& stack, const std::vector<Label>& labels,
                    const std::array<double, kMetricCount>& values) {
    constexpr size_t kLabelBytes = 48;
    std::vector<uint8_t> memory(max_sample_bytes(ids_.size()) + kLabelBytes * labels.size());
    Message message(memory.data(), memory.size());
    std::array<int64_t, kMetricCount> integers{};
    size_t count = 0;
    for (const Metric metric : kMetrics) {
      if (has_metric_[metric_index(metric)]) {
        integers[count++] = to_integer(values[metric_index(metric)]);
      }
    }
    sample_values(message, ids_.data(), ids_.size(), integers.data(), count);
    if (!stack.heap.empty()) {
      sample_text_label(message, schema::kHeap, string(stack.heap));
    }
    if (!stack.process.empty()) {
      sample_text_label(message, schema::kProcess, string(stack.process));
    }
    for (const Label& label : labels) {
      uint8_t label_memory[kLabelBytes];
      Message label_message(label_memory, sizeof(label_memory));
      label_message.field(schema::label_field::kKey, string(label.key));
      label_message.field(schema::label_field::kText, string(label.text));
      label_message.field(schema::label_field::kNumber, static_cast<uint64_t>(label.number));
      label_message.field(schema::label_field::kUnit, string(label.unit));
      message.message_field(schema::sample_field::kLabel, label_message);
    }
    output_.message_field(field::kSample, message);
  }

  template <typename Write>
  void write_comment_of(const Write& write) {
    CommentText text;
    write(text);
    write_comment({text.data(), text.size()});
  }

  void write_comments() {
    for (const std::string& comment : profile_.comments) write_comment(comment);
    if (!profile_.from_memprof) return;
    write_comment_of([&](CommentText& text) {
      profile_comment(text, profile_.program.data(), profile_.program.size(), profile_);
    });
    if (!profile_.told_apart.empty())
      write_comment_of([&](CommentText& text) { told_apart_comment(text, profile_.told_apart); });
    if (profile_.rates.size() > 1)
      write_comment_of(
          [&](CommentText& text) { rates_comment(text, profile_.rates.data(), profile_.rates.size()); });
    if (profile_.resident.is_known())
      write_comment_of([&](CommentText& text) { resident_comment(text, profile_.resident); });
    if (profile_.load.is_known())
      write_comment_of([&](CommentText& text) { load_comment(text, profile_.load); });
    for (const std::string& comment : samples_ != nullptr ? samples_->comments() : comments_of_stacks()) {
      write_comment(comment);
    }
  }

  std::vector<std::string> comments_of_stacks() const {
    const std::vector<uint64_t> ids = stack_ids(profile_);
    std::vector<IdentifiedStatistics> stacks;
    for (size_t i = 0; i < profile_.stacks.size(); ++i) {
      const Stack& stack = profile_.stacks[i];
      if (!stack.has_statistics || is_only_apart(stack)) {
        continue;
      }
      stacks.push_back({ids[i], as_packed(stack, profile_.rate_bytes)});
    }
    return pack_statistics(std::move(stacks), profile_.rate_bytes);
  }

  void write_comment(std::string_view text) {
    kept_.emplace_back(text);
    output_.field(field::kComment, string(kept_.back()));
  }

  const Profile& profile_;
  const PprofWriteOptions options_;
  const WrittenSamples* const samples_;
  std::vector<uint8_t> buffer_;
  std::vector<Function> places_;  // by location; nothing: they get no names
  wire::Output output_;
  std::unordered_map<std::string_view, uint32_t> strings_;
  uint32_t next_string_ = 0;
  std::deque<std::string> kept_;  // texts that strings_ points into
  std::array<bool, kMetricCount> has_metric_{};
  std::vector<uint32_t> ids_;
};

}  // namespace

void write_pprof(const Profile& profile, const PprofWriteOptions& options, const Sink& to,
                 const WrittenSamples* samples) {
  if (!options.gzip) {
    Writer(profile, options, to, samples).write();
    return;
  }
  GzipPacker packer(to);
  Writer(profile, options, packer.sink(), samples).write();
  static_cast<void>(packer.finish());
}

std::string write_pprof(const Profile& profile, const PprofWriteOptions& options) {
  std::string bytes;
  write_pprof(profile, options, sink_to(bytes));
  return bytes;
}

}  // namespace memprof::profile
