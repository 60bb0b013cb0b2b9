// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/pressure/pressure_watch.h"

#include <algorithm>
#include <utility>

namespace memprof::cli {
namespace {

constexpr int kMarks[] = {80, 90, 95};  // percent
constexpr int kBelow = 5;               // so far below a mark it may be passed again

// The highest mark at or below that.
int mark_below(double percent) {
  int highest = 0;
  for (const int mark : kMarks) {
    if (percent >= mark) highest = mark;
  }
  return highest;
}

}  // namespace

void PressureWatch::follow(const std::set<uint64_t>& pids) {
  for (const uint64_t pid : pids) {
    if (group_of_.count(pid) != 0) continue;
    ProcessGroup group = ProcessGroup::of(pid, root_);
    const std::string& name = group_of_.emplace(pid, group.name()).first->second;
    if (name.empty()) continue;
    const auto [at, is_new] = groups_.try_emplace(name, Watched{std::move(group), {}, 0, {}});
    if (is_new) at->second.kills = at->second.group.kills();
    at->second.pids.insert(pid);
  }
}

std::vector<Pressure> PressureWatch::check(const std::set<uint64_t>& pids) {
  follow(pids);
  std::vector<Pressure> found;
  for (auto& [name, watched] : groups_) {
    const GroupUse use = watched.group.use();
    Pressure pressure;
    const int mark = mark_below(use.percent());
    if (mark > watched.passed_percent) pressure.passed_percent = mark;
    const int still_passed = mark_below(use.percent() + kBelow);
    watched.passed_percent = std::max(mark, std::min(watched.passed_percent, still_passed));
    pressure.kills = use.kills.since(watched.kills);
    watched.kills = use.kills;
    if (pressure.passed_percent == 0 && pressure.kills == 0) continue;
    pressure.group = name;
    pressure.pids = watched.pids;
    pressure.limit_bytes = use.limit_bytes == UINT64_MAX ? 0 : use.limit_bytes;
    pressure.used_bytes = use.used_bytes;
    found.push_back(std::move(pressure));
  }
  // Those that ended are known for one check more: the OOM killer's count comes before or after their end.
  for (auto known = group_of_.begin(); known != group_of_.end();) {
    if (pids.count(known->first) != 0) {
      ++known;
      continue;
    }
    const auto group = groups_.find(known->second);
    if (group != groups_.end()) {
      group->second.pids.erase(known->first);
      if (group->second.pids.empty()) groups_.erase(group);
    }
    known = group_of_.erase(known);
  }
  return found;
}

}  // namespace memprof::cli
