// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/callers/caller_sums.h"

#include <algorithm>

#include "profile/model/estimate.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kFewestSamples = 30;

}  // namespace

void CallerSums::add(const Stack& stack, double live_bytes, Sum* sum) {
  sum->samples += stack.allocated.samples;
  sum->allocated_bytes += stack.allocated.weight_bytes;
  sum->live_bytes += live_bytes;
}

void CallerSums::add(const Stack& stack, const std::vector<GroupedFrame>& frames) {
  const double live_bytes = estimated_value(stack, Metric::kInuseSpace);
  for (const uint32_t group : groups_of(frames)) {
    if (group >= sums_.size()) sums_.resize(group + 1);
    add(stack, live_bytes, &sums_[group]);
  }
  add(stack, live_bytes, &all_);
}

double CallerSums::kept(const Sum& sum) {
  if (sum.samples < kFewestSamples || !(sum.allocated_bytes > 0)) return 1;
  return std::clamp(sum.live_bytes / sum.allocated_bytes, 0.0, 1.0);
}

double CallerSums::min_kept_share(const std::vector<uint32_t>& groups) const {
  double least = kept(all_);
  for (const uint32_t group : groups) {
    if (group < sums_.size()) least = std::min(least, kept(sums_[group]));
  }
  return least;
}

std::vector<uint32_t> groups_of(const std::vector<GroupedFrame>& frames) {
  std::vector<uint32_t> groups;
  groups.reserve(frames.size());
  for (const GroupedFrame& frame : frames) groups.push_back(frame.group);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace memprof::profile
