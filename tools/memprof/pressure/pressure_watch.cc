// SPDX-License-Identifier: Apache-2.0
#include "memprof/pressure/pressure_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace memprof::cli {
namespace {

constexpr int kMarks[] = {80, 90, 95};  // percent
constexpr int kBelow = 5;               // so far below a mark it may be passed again
// Of the time, percent: a stall begins, and has ended.
constexpr double kStalled = 15;
constexpr double kNotStalled = 5;

// The highest mark at or below that.
int mark_below(double percent) {
  int highest = 0;
  for (const int mark : kMarks) {
    if (percent >= mark) highest = mark;
  }
  return highest;
}

// A group's counts before the machine's.
bool is_longer(const MemoryStall& stall, const std::optional<MemoryStall>& than) {
  if (!than) return true;
  if (stall.is_of_machine != than->is_of_machine) return than->is_of_machine;
  return stall.some > than->some;
}

}  // namespace

int PressureWatch::next_mark(double percent) {
  const auto* const next = std::upper_bound(std::begin(kMarks), std::end(kMarks), percent);
  return next == std::end(kMarks) ? 0 : *next;
}

void PressureWatch::follow(const std::set<uint64_t>& pids) {
  for (const uint64_t pid : pids) {
    if (group_of_.count(pid) != 0) continue;
    ProcessGroup group = ProcessGroup::of(pid, root_);
    const std::string& name = group_of_.emplace(pid, group.name()).first->second;
    if (name.empty()) continue;
    const auto [at, is_new] = groups_.try_emplace(name, Watched{std::move(group), {}, 0, {}, false, {}});
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

bool PressureWatch::is_new_stall(const std::optional<MemoryStall>& stall, Watched* watched) const {
  if (!stall || stall->is_of_machine) return false;
  if (stall->some < kNotStalled) watched->is_stalled = false;
  if (stall->some < kStalled || watched->is_stalled || Clock::now() < watched->next_stall) return false;
  watched->is_stalled = true;
  watched->next_stall = Clock::now() + stall_pause_;
  return true;
}

std::vector<Pressure> PressureWatch::check(const std::set<uint64_t>& pids) {
  follow(pids);
  std::vector<Pressure> found;
  fullest_percent_.reset();
  longest_stall_.reset();
  for (auto& [name, watched] : groups_) {
    const GroupUse use = watched.group.use(kMarks[0]);
    if (use.limit_bytes != UINT64_MAX)
      fullest_percent_ = std::max(fullest_percent_.value_or(0), use.percent());
    Pressure pressure;
    pressure.stall = watched.group.stall();
    if (pressure.stall && is_longer(*pressure.stall, longest_stall_)) longest_stall_ = pressure.stall;
    pressure.is_stalled = is_new_stall(pressure.stall, &watched);
    const int mark = mark_below(use.percent());
    if (mark > watched.passed_percent) pressure.passed_percent = mark;
    const int still_passed = mark_below(use.percent() + kBelow);
    watched.passed_percent = std::max(mark, std::min(watched.passed_percent, still_passed));
    pressure.kills = use.kills.since(watched.kills);
    watched.kills = use.kills;
    if (pressure.passed_percent == 0 && !pressure.is_stalled && pressure.kills == 0) continue;
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
