// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/speedscope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The viewer opens the first profile, so what most people came for stands there.
constexpr Metric kOrder[] = {Metric::kInuseSpace,          Metric::kInuseObjects,
                             Metric::kPeakSpace,           Metric::kPeakObjects,
                             Metric::kAllocSpace,          Metric::kAllocObjects,
                             Metric::kMappedResidentSpace, Metric::kMappedSpace,
                             Metric::kResidentSpace,       Metric::kJsSpace,
                             Metric::kMappedObjects,       Metric::kMappedResidentObjects,
                             Metric::kResidentObjects};

// Every profile makes the file larger: what few ask for is there where it is asked for.
bool is_only_on_demand(Metric metric) {
  return metric_is_resident(metric) || metric == Metric::kMappedObjects ||
         metric == Metric::kMappedResidentObjects;
}

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
    case Metric::kMappedSpace:
      return "mapped_space (mapped bytes)";
    case Metric::kMappedResidentSpace:
      return "mapped_resident_space (of them, resident)";
    case Metric::kResidentSpace:
      return "inuse_resident_space (live bytes in memory)";
    case Metric::kJsSpace:
      return "js_space (live bytes in the runtime's own heap)";
    case Metric::kResidentObjects:
      return "inuse_resident_objects (live blocks with a page in memory)";
    case Metric::kMappedObjects:
      return "mapped_objects (mappings)";
    case Metric::kMappedResidentObjects:
      return "mapped_resident_objects (of them, with a page in memory)";
    case Metric::kJsObjects:  // in no profile
    case Metric::kTemporarySpace:
    case Metric::kTemporaryObjects:
      break;  // of a time that no file chooses
  }
  return "";
}

// What a profile of speedscope shows: its weights have no sign.  A difference of profiles is two: what is
// more and what is less.
enum class Part { kAll, kMore, kLess };

const char* part_title(Part part) {
  switch (part) {
    case Part::kAll:
      return "";
    case Part::kMore:
      return ": more";
    case Part::kLess:
      return ": less";
  }
  return "";
}

// Sums of the stacks, root first; the map has them in order.
using Stacks = std::map<std::vector<uint32_t>, double>;

Stacks sums(const Profile& profile, Metric metric, const StackFrames& stack_frames) {
  Stacks stacks;
  for (const Stack& stack : profile.stacks) {
    const double value = estimated_value(stack, metric);
    if (value != 0) stacks[stack_frames.root_first(stack)] += value;
  }
  return stacks;
}

// One object of `profiles`.
std::string sampled_profile(const Stacks& stacks, Metric metric, Part part) {
  std::string samples;
  std::string weights;
  int64_t end_value = 0;
  CarriedRounding rounding;
  for (const auto& [stack, value] : stacks) {
    const int64_t weight = rounding.round(part == Part::kLess ? std::max(-value, 0.0) : std::max(value, 0.0));
    if (weight == 0) {
      continue;
    }
    const char* separator = samples.empty() ? "" : ",";
    fmt::format_to(std::back_inserter(samples), "{}[{}]", separator, fmt::join(stack, ","));
    fmt::format_to(std::back_inserter(weights), "{}{}", separator, weight);
    end_value += weight;
  }
  return fmt::format(
      R"({{"type":"sampled","name":"{}{}","unit":"{}","startValue":0,"endValue":{},"samples":[{}],"weights":[{}]}})",
      title(metric), part_title(part), metric_is_bytes(metric) ? "bytes" : "none", end_value, samples,
      weights);
}

}  // namespace

std::string write_speedscope(const Profile& profile, const SpeedscopeOptions& options) {
  const StackFrames stack_frames(profile, options.by);
  std::string out = fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/"
      "file-format-schema.json\",\"exporter\":\"memprof\",\"name\":{},"
      "\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[",
      json_text(options.name));
  const char* separator = "\n";
  for (const Frame& frame : stack_frames.frames()) {
    out += fmt::format("{}{{\"name\":{}", separator, json_text(frame.name));
    if (!frame.file.empty()) {
      out += fmt::format(",\"file\":{}", json_text(frame.file));
    }
    if (frame.line > 0) {
      out += fmt::format(",\"line\":{}", frame.line);
    }
    out += '}';
    separator = ",\n";
  }
  out += "\n]},\n\"profiles\":[";
  separator = "\n";
  std::array<Metric, std::size(kOrder)> order{};
  std::copy(std::begin(kOrder), std::end(kOrder), order.begin());
  const auto first = std::find(order.begin(), order.end(), options.metric.value_or(default_metric(profile)));
  if (first != order.end()) std::rotate(order.begin(), first, first + 1);
  for (const Metric metric : order) {
    const bool is_left_out = is_only_on_demand(metric) && options.metric != metric;
    if (!profile.has_metric[metric_index(metric)] || is_left_out) continue;
    const Stacks stacks = sums(profile, metric, stack_frames);
    const bool has_less =
        std::any_of(stacks.begin(), stacks.end(), [](const auto& stack) { return stack.second < 0; });
    for (const Part part : {Part::kAll, Part::kMore, Part::kLess}) {
      if (has_less == (part == Part::kAll)) continue;
      out += separator + sampled_profile(stacks, metric, part);
      separator = ",\n";
    }
  }
  out += "\n]}\n";
  return out;
}

}  // namespace memprof::profile
