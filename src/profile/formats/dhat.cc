// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/dhat.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "format/pprof/sample_writer.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/names/stack_frames.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

// All of one program point.
struct Point {
  std::array<double, kMetricCount> values{};
  double freed_blocks = 0;
  double lifetime_ns = 0;  // of these together
};

// DHAT's times are in units of its own: ours are microseconds.
constexpr double kUnitNs = 1000;

uint64_t units(double ns) {
  return static_cast<uint64_t>(std::max(ns, 0.0) / kUnitNs);
}

// By their frames, innermost first.
std::map<std::vector<uint32_t>, Point> points_of(const Profile& profile, const StackFrames& frames) {
  std::map<std::vector<uint32_t>, Point> points;
  for (const Stack& stack : profile.stacks) {
    std::vector<uint32_t> key = frames.root_first(stack);
    std::reverse(key.begin(), key.end());
    Point& point = points[std::move(key)];
    for (const Metric metric : kMetrics) {
      point.values[metric_index(metric)] += estimated_value(stack, metric);
    }
    if (stack.lifetime_ns > 0) point.freed_blocks += stack.freed.weight_count;  // the end's have no lifetime
    point.lifetime_ns += stack.lifetime_ns;
  }
  return points;
}

// `0x1: name (file:line)`, as valgrind writes a frame; the number only tells frames apart.
std::string frame_text(const Frame& frame, size_t index) {
  std::string place = frame.file.empty() ? (frame.module.empty() ? "" : "in " + frame.module) : frame.file;
  if (!frame.file.empty() && frame.line > 0) place += ":" + std::to_string(frame.line);
  std::string text = fmt::format("{:#x}: {}", index, frame.name);
  return place.empty() ? text : text + " (" + place + ")";
}

}  // namespace

std::string write_dhat(const Profile& profile) {
  const StackFrames frames(profile, GroupBy::kLine);
  const bool has_peak = profile.has_metric[metric_index(Metric::kPeakSpace)];
  const double end_ns = static_cast<double>(profile.duration_ns);
  const double peak_ns = has_peak ? static_cast<double>(profile.peak_after_ns) : end_ns;
  std::string out = fmt::format(
      "{{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,\n"
      "\"tu\":\"us\",\"Mtu\":\"s\",\"tuth\":10,\n\"cmd\":{},\"pid\":{},\n\"te\":{},\"tg\":{},\n\"pps\":[",
      json_text(profile.program), profile.pid, units(end_ns), units(peak_ns));
  std::array<CarriedRounding, kMetricCount> rounding;
  const char* separator = "\n";
  for (const auto& [stack, point] : points_of(profile, frames)) {
    std::array<int64_t, kMetricCount> values{};
    for (const Metric metric : kMetrics) {
      const size_t i = metric_index(metric);
      values[i] = rounding[i].round(std::max(point.values[i], 0.0));
    }
    const auto value = [&values](Metric metric) { return values[metric_index(metric)]; };
    if (std::all_of(values.begin(), values.end(), [](int64_t number) { return number == 0; })) continue;
    const int64_t end_bytes = value(Metric::kInuseSpace);
    const int64_t end_blocks = value(Metric::kInuseObjects);
    const int64_t peak_bytes = has_peak ? value(Metric::kPeakSpace) : end_bytes;
    const int64_t peak_blocks = has_peak ? value(Metric::kPeakObjects) : end_blocks;
    const double mean_ns = point.lifetime_ns > 0 ? point.lifetime_ns / point.freed_blocks : end_ns;
    fmt::format_to(
        std::back_inserter(out),
        "{}{{\"tb\":{},\"tbk\":{},\"tl\":{},\"mb\":{},\"mbk\":{},\"gb\":{},\"gbk\":{},\"eb\":{},\"ebk\":{},"
        "\"fs\":[",
        separator, value(Metric::kAllocSpace), value(Metric::kAllocObjects),
        units(mean_ns * static_cast<double>(value(Metric::kAllocObjects))), std::max(peak_bytes, end_bytes),
        std::max(peak_blocks, end_blocks), peak_bytes, peak_blocks, end_bytes, end_blocks);
    for (size_t i = 0; i < stack.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", stack[i] + 1);  // 0 is the root
    }
    out += "]}";
    separator = ",\n";
  }
  out += "\n],\n\"ftbl\":[\n\"[root]\"";
  for (size_t i = 0; i < frames.frames().size(); ++i) {
    out += ",\n" + json_text(frame_text(frames.frames()[i], i + 1));
  }
  return out + "\n]}\n";
}

}  // namespace memprof::profile
