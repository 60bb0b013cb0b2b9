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

bool PressureWatch::has_moved(uint64_t pid, const std::string& group) const {
  const std::string now = ProcessGroup::of(pid, root_).name();
  return !now.empty() && now != group;
}

void PressureWatch::forget(uint64_t pid) {
  const auto known = group_of_.find(pid);
  const auto group = groups_.find(known->second);
  if (group != groups_.end()) {
    group->second.pids.erase(pid);
    if (group->second.pids.empty()) groups_.erase(group);
  }
  group_of_.erase(known);
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
  // Not before: those that have ended since the last check may have been killed.
  const bool asks_again = Clock::now() >= next_;
  if (asks_again) next_ = Clock::now() + again_;
  std::set<uint64_t> forgotten;
  for (const auto& [pid, group] : group_of_) {
    if (pids.count(pid) == 0 || (asks_again && has_moved(pid, group))) forgotten.insert(pid);
  }
  for (const uint64_t pid : forgotten) forget(pid);
  return found;
}

}  // namespace memprof::cli
