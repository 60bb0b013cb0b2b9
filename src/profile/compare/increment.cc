// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/increment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "profile/compare/merge.h"
#include "profile/matching/stack_filter.h"
#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

uint64_t start_of(const Profile& profile) {
  return profile.time_unix_ns - std::min(profile.time_unix_ns, profile.duration_ns);
}

bool has_cumulative(const Profile& profile) {
  return profile.has_metric[metric_index(Metric::kAllocSpace)] ||
         profile.has_metric[metric_index(Metric::kAllocObjects)];
}

// Counters only grow, but for a file that says less of the process than an earlier one did.
void subtract(uint64_t earlier, uint64_t* counter) {
  *counter -= std::min(*counter, earlier);
}

// Mappings, what is in memory and the heap of a runtime have values and no statistics.
bool is_empty(const Stack& stack) {
  constexpr auto kFirstWithout = static_cast<ptrdiff_t>(Metric::kMappedObjects);
  const auto first = stack.values.begin() + (stack.has_statistics ? kFirstWithout : 0);
  const auto end = stack.values.begin() + kFileMetrics;
  return stack.live.empty() && stack.allocated.samples == 0 && stack.freed.samples == 0 &&
         stack.peak.samples == 0 && std::all_of(first, end, [](double value) { return value == 0; });
}

}  // namespace

std::string why_no_increment(const Profile& earlier, const Profile& later) {
  if (!has_cumulative(earlier) || !has_cumulative(later)) {
    return "has nothing of what was allocated since the start, which is what increments are of";
  }
  if (earlier.from_memprof != later.from_memprof) return "one was written by memprof, and the other was not";
  if (is_increment(earlier) != is_increment(later)) {
    return "one is an increment already, and the other is not; give two whole profiles";
  }
  if (earlier.time_unix_ns > later.time_unix_ns) return "is newer; give the older one with --since";
  if (!later.from_memprof) return "";
  if (process_label(earlier) != process_label(later)) {
    return "is of another process (" + process_label(earlier) + ", not " + process_label(later) + ")";
  }
  // The clock of the machine may be set; a process that got the id of another began later than that one's profile.
  if (start_of(later) > earlier.time_unix_ns + kSecondNs || earlier.samples > later.samples) {
    return "is of an earlier process of this name and id, or the profiler was started anew";
  }
  return "";
}

Profile increment(const Profile& earlier, const Profile& later) {
  Merger merger(Processes::kAddedUp);
  merger.add(later);
  merger.subtract(earlier);
  Profile rest = merger.take();
  // Everything else is as in the later one.
  Profile result = later;
  result.mappings = std::move(rest.mappings);
  result.functions = std::move(rest.functions);
  result.locations = std::move(rest.locations);
  result.stacks = std::move(rest.stacks);
  result.stacks.erase(std::remove_if(result.stacks.begin(), result.stacks.end(), is_empty),
                      result.stacks.end());
  result.duration_ns = later.time_unix_ns - earlier.time_unix_ns;
  subtract(earlier.samples, &result.samples);
  for (size_t i = 0; i < kWalkReasons; ++i) subtract(earlier.walks[i], &result.walks[i]);
  result.comments.push_back(
      fmt::format("{}{:.3f} s", kIncrementComment, static_cast<double>(result.duration_ns) / kSecondNs));
  return result;
}

bool is_increment(const Profile& profile) {
  return std::any_of(profile.comments.begin(), profile.comments.end(),
                     [](const std::string& comment) { return comment.rfind(kIncrementComment, 0) == 0; });
}

}  // namespace memprof::profile
