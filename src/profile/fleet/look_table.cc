// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/look_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/fleet/fleet.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/names/characters/character_width.h"
#include "profile/names/short_name.h"
#include "profile/names/stack_frames.h"
#include "profile/text/signed_rounding.h"

namespace memprof::profile {
namespace {

enum Column : size_t {
  kTime,
  kDuration,
  kProfilePath,
  kService,
  kHost,
  kVersion,
  kProgram,
  kPid,
  kProcess,
  kContainer,
  kPod,
  kLabels,
  kRate,
  kFunctionName,
  kFile,
  kLine,
  kModule,
  kHeap,
  kStack,
  kFirstMetric,
};

// All that files can have, but for js_objects, which no file has.
constexpr std::array<Metric, kFileMetrics - 1> kTableMetrics = {Metric::kAllocObjects,
                                                                Metric::kAllocSpace,
                                                                Metric::kInuseObjects,
                                                                Metric::kInuseSpace,
                                                                Metric::kPeakObjects,
                                                                Metric::kPeakSpace,
                                                                Metric::kMappedObjects,
                                                                Metric::kMappedSpace,
                                                                Metric::kMappedResidentObjects,
                                                                Metric::kMappedResidentSpace,
                                                                Metric::kResidentObjects,
                                                                Metric::kResidentSpace,
                                                                Metric::kJsSpace};

bool has_metric(const Profile& profile, size_t i) {
  return profile.has_metric[metric_index(kTableMetrics[i])];
}

// "alloc_space" is "alloc_bytes": units are part of the names.
std::string metric_column(Metric metric) {
  std::string name = metric_name(metric);
  constexpr std::string_view kSpace = "space";
  if (metric_is_bytes(metric)) name.replace(name.size() - kSpace.size(), kSpace.size(), "bytes");
  return name;
}

std::vector<ParquetColumn> table_columns() {
  std::vector<ParquetColumn> columns = {
      {"time", ParquetType::kTime},         {"duration_ns", ParquetType::kNumber},
      {"profile", ParquetType::kText},      {"service", ParquetType::kText},
      {"host", ParquetType::kText},         {"version", ParquetType::kText},
      {"program", ParquetType::kText},      {"pid", ParquetType::kNumber},
      {"process", ParquetType::kText},      {"container", ParquetType::kText},
      {"pod", ParquetType::kText},          {"labels", ParquetType::kTextMap},
      {"rate_bytes", ParquetType::kNumber}, {"function", ParquetType::kText},
      {"file", ParquetType::kText},         {"line", ParquetType::kNumber},
      {"module", ParquetType::kText},       {"heap", ParquetType::kText},
      {"stack", ParquetType::kTextList},
  };
  for (const Metric metric : kTableMetrics) columns.push_back({metric_column(metric), ParquetType::kNumber});
  return columns;
}

using Values = std::array<double, kTableMetrics.size()>;

// Name and file of the innermost frame first; then the whole stack, as numbers of frames, root first, and what it is of.
using StackKey =
    std::tuple<std::string_view, std::string_view, std::vector<uint32_t>, std::string_view, std::string_view>;

std::map<StackKey, Values> values_of(const Profile& profile, const StackFrames& frames) {
  std::map<StackKey, Values> sums;
  for (const Stack& stack : profile.stacks) {
    std::vector<uint32_t> numbers = frames.root_first(stack);
    numbers.erase(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(root_labels(stack).size()));
    const Frame& leaf = frames.frames()[numbers.back()];
    Values& sum = sums[{leaf.name, leaf.file, std::move(numbers), stack.process, stack.heap}];
    for (size_t i = 0; i < kTableMetrics.size(); ++i) {
      if (has_metric(profile, i)) sum[i] += estimated_value(stack, kTableMetrics[i]);
    }
  }
  return sums;
}

// What a profile says of itself; the same in each of its rows.
class LookCells {
 public:
  LookCells(const Profile& profile, const std::string& path, const std::string& version_label)
      : profile_(profile), path_(valid_utf8(path)) {
    for (const auto& [name, value] : shipped_labels(profile).value_or(std::map<std::string, std::string>())) {
      labels_[valid_utf8(name)] = valid_utf8(value);
    }
    version_ = label_of(labels_, version_label);
    program_ = label_of(labels_, "program");
    if (program_.empty()) program_ = valid_utf8(profile.program);
    pid_ = profile.pid;
    const std::string pid = label_of(labels_, "pid");
    if (pid_ == 0) std::from_chars(pid.data(), pid.data() + pid.size(), pid_);
  }

  void write(ParquetWriter* writer) const {
    constexpr uint64_t kMicrosecondNs = 1000;
    number(kTime, profile_.time_unix_ns / kMicrosecondNs, writer);
    number(kDuration, profile_.duration_ns, writer);
    text(kProfilePath, path_, writer);
    text(kService, label_of(labels_, "service_name"), writer);
    text(kHost, label_of(labels_, "host"), writer);
    text(kVersion, version_, writer);
    text(kProgram, program_, writer);
    number(kPid, pid_, writer);
    text(kContainer, label_of(labels_, "container_id"), writer);
    text(kPod, label_of(labels_, "k8s_pod_name"), writer);
    writer->map(kLabels, labels_);
    writer->number(kRate, static_cast<int64_t>(profile_.rate_bytes));
  }

  // Null where it is not known.
  static void text(Column column, const std::string& value, ParquetWriter* writer) {
    if (!value.empty()) writer->text(column, value);
  }
  static void number(Column column, uint64_t value, ParquetWriter* writer) {
    if (value != 0) writer->number(column, static_cast<int64_t>(value));
  }

 private:
  const Profile& profile_;
  std::string path_;
  std::map<std::string, std::string> labels_;
  std::string version_;
  std::string program_;
  uint64_t pid_ = 0;
};

}  // namespace

LookTable::LookTable(LookTableOptions options, const Sink& to)
    : options_(std::move(options)), writer_(table_columns(), to, options_.created_by, options_.limits) {}

void LookTable::add(const Profile& profile, const std::string& path) {
  const LookCells cells(profile, path, options_.version_label);
  const StackFrames stack_frames(profile, options_.by);
  std::vector<std::string> names;
  for (const Frame& frame : stack_frames.frames()) {
    names.push_back(valid_utf8(frame.name));
    if (options_.by == GroupBy::kLine && frame.line > 0) names.back() += ":" + std::to_string(frame.line);
  }
  std::array<SignedRounding, kTableMetrics.size()> rounding;
  for (const auto& [key, sums] : values_of(profile, stack_frames)) {
    std::array<int64_t, kTableMetrics.size()> values{};
    for (size_t i = 0; i < kTableMetrics.size(); ++i) values[i] = rounding[i].round(sums[i]);
    if (std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; })) continue;
    const auto& [name, file, frames, process, heap] = key;
    const Frame& leaf = stack_frames.frames()[frames.back()];
    cells.write(&writer_);
    LookCells::text(kProcess, valid_utf8(process), &writer_);
    LookCells::text(kFunctionName, valid_utf8(name), &writer_);
    LookCells::text(kFile, valid_utf8(file), &writer_);
    LookCells::number(kLine, static_cast<uint64_t>(std::max<int64_t>(leaf.line, 0)), &writer_);
    LookCells::text(kModule, valid_utf8(shown_module(leaf.module)), &writer_);
    LookCells::text(kHeap, valid_utf8(heap), &writer_);
    std::vector<std::string_view> stack;
    for (const uint32_t frame : frames) stack.emplace_back(names[frame]);
    writer_.list(kStack, stack);
    for (size_t i = 0; i < kTableMetrics.size(); ++i) {
      if (has_metric(profile, i)) writer_.number(kFirstMetric + i, values[i]);
    }
    writer_.end_row();
    ++rows_;
  }
}

}  // namespace memprof::profile
