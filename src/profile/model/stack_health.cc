// SPDX-License-Identifier: Apache-2.0
#include "profile/model/stack_health.h"

#include <algorithm>
#include <map>
#include <vector>

#include "format/pprof/pprof_schema.h"
#include "profile/model/estimate.h"

namespace memprof::profile {
namespace {

// By location: does it stand for frames that a full table took?
std::vector<bool> lost_frames(const Profile& profile) {
  std::vector<bool> lost;
  for (const Location& location : profile.locations) {
    lost.push_back(location.lines.size() == 1 && location.lines[0].function < profile.functions.size() &&
                   profile.functions[location.lines[0].function].system_name == schema::kOlderStacksName);
  }
  return lost;
}

}  // namespace

double StackHealth::truncation_rate() const {
  return walks == 0 ? 0 : static_cast<double>(truncated()) / static_cast<double>(walks);
}

// From above, so that it is all of them, to the last bit, where none is cut.
double StackHealth::complete_bytes() const {
  double bytes = total_allocated_bytes;
  for (size_t i = 0; i < kWalkReasons; ++i) {
    if (is_cut(static_cast<Walk>(i))) bytes -= allocated_bytes[i];
  }
  return bytes;
}

std::optional<StackHealth> stack_health(const Profile& profile) {
  StackHealth health;
  health.samples = profile.walks;
  for (const uint64_t count : profile.walks) health.walks += count;
  if (health.walks == 0) return std::nullopt;
  // Where another program altered or merged the profile, the stacks that kept their statistics are some of all, and
  // say nothing of the others.
  const bool has_statistics = std::all_of(profile.stacks.begin(), profile.stacks.end(),
                                          [](const Stack& stack) { return stack.has_statistics; });
  if (!has_statistics) return health;

  std::map<uint64_t, uint64_t> samples_of_depth;
  uint64_t samples = 0;
  double depths = 0;
  const std::vector<bool> lost = lost_frames(profile);
  for (const Stack& stack : profile.stacks) {
    const double bytes = estimated_value(stack, Metric::kAllocSpace);
    health.allocated_bytes[static_cast<size_t>(stack.walk)] += bytes;
    health.total_allocated_bytes += bytes;
    if (std::any_of(stack.locations.begin(), stack.locations.end(),
                    [&](uint32_t location) { return lost[location]; })) {
      health.shortened_bytes += bytes;
    }
    const uint64_t depth = stack.locations.size();
    samples_of_depth[depth] += stack.allocated.samples;
    samples += stack.allocated.samples;
    depths += static_cast<double>(depth) * static_cast<double>(stack.allocated.samples);
  }
  if (samples == 0) return health;
  health.mean_depth = depths / static_cast<double>(samples);
  uint64_t below = 0;
  for (const auto& [depth, count] : samples_of_depth) {
    if (count == 0) continue;
    if (!health.min_depth) health.min_depth = depth;
    below += count;
    if (!health.median_depth && below >= samples - samples / 2) health.median_depth = depth;
  }
  return health;
}

const char* confidence_name(double truncation_rate) {
  constexpr double kMedium = 0.05;
  constexpr double kLow = 0.20;
  return truncation_rate < kMedium ? "high" : truncation_rate < kLow ? "medium" : "low";
}

}  // namespace memprof::profile
