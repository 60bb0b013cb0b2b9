// SPDX-License-Identifier: Apache-2.0
#include "profile/speedscope.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <vector>

#include "profile/estimate.h"
#include "profile/inprocess/sample_writer.h"
#include "profile/json_text.h"
#include "profile/metric.h"
#include "profile/stack_frames.h"

namespace memprof::profile {
namespace {

// The viewer opens the first profile, so what most people came for stands there.
constexpr Metric kOrder[] = {Metric::kInuseSpace,  Metric::kInuseObjects, Metric::kPeakSpace,
                             Metric::kPeakObjects, Metric::kAllocSpace,   Metric::kAllocObjects};

const char* title(Metric metric) {
  switch (metric) {
    case Metric::kInuseSpace:
      return "inuse_space (live bytes)";
    case Metric::kInuseObjects:
      return "inuse_objects (live blocks)";
    case Metric::kAllocSpace:
      return "alloc_space (allocated bytes)";
    case Metric::kAllocObjects:
      return "alloc_objects (allocated blocks)";
    case Metric::kPeakSpace:
      return "peak_space (live bytes at the peak)";
    case Metric::kPeakObjects:
      return "peak_objects (live blocks at the peak)";
  }
  return "";
}

// One object of `profiles`; `stacks` are root first, and the map has them in order.
std::string sampled_profile(const Profile& profile, Metric metric, const StackFrames& stack_frames) {
  std::map<std::vector<uint32_t>, double> stacks;
  for (const Stack& stack : profile.stacks) {
    const double value = estimated_value(stack, metric);
    if (value > 0) {  // a negative weight makes the viewer throw
      stacks[stack_frames.root_first(stack)] += value;
    }
  }
  std::string samples;
  std::string weights;
  int64_t end_value = 0;
  CarriedRounding rounding;
  for (const auto& [stack, value] : stacks) {
    const int64_t weight = rounding.round(value);
    if (weight == 0) {
      continue;
    }
    const char* separator = samples.empty() ? "" : ",";
    fmt::format_to(std::back_inserter(samples), "{}[{}]", separator, fmt::join(stack, ","));
    fmt::format_to(std::back_inserter(weights), "{}{}", separator, weight);
    end_value += weight;
  }
  return fmt::format(
      R"({{"type":"sampled","name":"{}","unit":"{}","startValue":0,"endValue":{},"samples":[{}],"weights":[{}]}})",
      title(metric), metric_is_bytes(metric) ? "bytes" : "none", end_value, samples, weights);
}

}  // namespace

std::string write_speedscope(const Profile& profile, const std::string& name) {
  const StackFrames stack_frames(profile);
  std::string out = fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/"
      "file-format-schema.json\",\"exporter\":\"memprof\",\"name\":{},"
      "\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[",
      json_text(name));
  const char* separator = "\n";
  for (const Frame& frame : stack_frames.frames()) {
    out += fmt::format("{}{{\"name\":{}", separator, json_text(frame.name));
    if (!frame.file.empty()) {
      out += fmt::format(",\"file\":{}", json_text(frame.file));
    }
    out += '}';
    separator = ",\n";
  }
  out += "\n]},\n\"profiles\":[";
  separator = "\n";
  for (const Metric metric : kOrder) {
    if (profile.has_metric[metric_index(metric)]) {
      out += separator + sampled_profile(profile, metric, stack_frames);
      separator = ",\n";
    }
  }
  out += "\n]}\n";
  return out;
}

}  // namespace memprof::profile
