// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/oom_victims.h"
#include "memprof/pressure/pressure_text.h"
#include "memprof/ship/looks/alloc_totals.h"
#include "memprof/ship/looks/group_look.h"
#include "memprof/ship/looks/shipped_profile.h"
#include "profile/fleet/fleet.h"
#include "profile/memory/peak_text.h"
#include "profile/model/error.h"
#include "profile/report/holder_text.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMsNs = 1'000'000;

// Nothing: it cannot be read.
template <typename Read>
auto if_readable(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const profile::Error&) {
    return std::nullopt;
  } catch (const Failure&) {
    return std::nullopt;
  }
}

// Of one that has ended.
std::optional<profile::Profile> profile_of(ShippedProcesses& all, ShippedProcess& process) {
  return if_readable(
      [&] { return process.left.path.empty() ? process.looks->look_at_end() : all.left_profile(process); });
}

}  // namespace

int64_t time_now_ms() {
  using std::chrono::milliseconds;
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Shipper::Shipper(ShippedProcesses& processes, Spool& spool, std::function<void(const QueuedLook&)> queue,
                 std::function<void(const std::string&)> say)
    : processes_(processes), spool_(spool), queue_(std::move(queue)), say_(std::move(say)) {}

void Shipper::know_groups(const std::vector<Pressure>& pressures) {
  known_.clear();
  std::map<uint64_t, const Pressure*> by_pid;
  for (const Pressure& pressure : pressures) {
    for (const uint64_t pid : pressure.pids) by_pid[pid] = &pressure;
  }
  for (auto& [arena, process] : processes_.all()) {
    Known& known = known_[&process];
    known.has_ended = process.has_ended();
    if (process.looks == nullptr) continue;
    const auto pressed = by_pid.find(process.looks->process().pid);
    if (pressed != by_pid.end()) known.pressure = pressed->second;
  }
  for (const Pressure& pressure : pressures) mark_killed(pressure);
}

// The kernel counts a kill before the process is gone, which takes the longer the more memory it has to give back.
void Shipper::wait_for_ends(const Pressure& pressure) {
  constexpr auto kAtMost = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto until = std::chrono::steady_clock::now() + kAtMost;
  while (true) {
    uint64_t ended = 0;
    uint64_t others = 0;
    for (auto& [process, known] : known_) {
      if (known.pressure != &pressure) continue;
      known.has_ended = process->has_ended();
      ++(known.has_ended ? ended : others);
    }
    if (ended >= pressure.kills || others == 0 || std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kPause);
  }
}

void Shipper::mark_killed(const Pressure& pressure) {
  if (pressure.kills == 0) return;
  wait_for_ends(pressure);
  struct Candidate {
    const RunningProcess* process;
    Known* known;
    const profile::Profile* profile;
  };
  std::vector<Candidate> candidates;
  std::vector<EndedProcess> ended;
  for (auto& [process, known] : known_) {
    if (known.pressure != &pressure || !known.has_ended || process->looks->is_replaced()) continue;
    known.profile = profile_of(processes_, *process);
    if (!known.profile || known.profile->has_ended) continue;
    const RunningProcess& running = process->looks->process();
    ended.push_back({candidates.size(), running.pid, known.profile->max_resident_bytes});
    candidates.push_back({&running, &known, &*known.profile});
  }
  const std::vector<size_t> victims = oom_victims(std::move(ended), pressure.kills);
  for (const size_t i : victims) {
    const auto& [running, known, profile] = candidates[i];
    known->is_oom_killed = true;
    ++counts_.oom_killed;
    notes_.push_back(profile::oom_kill_text(running->program, running->pid, pressure.limit_bytes) +
                     profile::holder_text(*profile, "held"));
  }
  const uint64_t others = pressure.kills - victims.size();
  if (others != 0) {
    notes_.push_back(fmt::format("the OOM killer ended {} other process{} of the group {}", others,
                                 others == 1 ? "" : "es", pressure.group));
  }
}

std::string Shipper::tell_pressure(const Group& group, const profile::Profile& profile, Labels* labels) {
  const Pressure* worst = nullptr;  // the fullest, before those that wait
  bool is_oom_killed = false;
  for (ShippedProcess* const process : group) {
    const Known& known = known_.at(process);
    is_oom_killed = is_oom_killed || known.is_oom_killed;
    if (known.pressure == nullptr) continue;
    if (known.pressure->passed_percent == 0 && !known.pressure->is_stalled) continue;
    if (worst == nullptr || known.pressure->passed_percent > worst->passed_percent) worst = known.pressure;
  }
  if (is_oom_killed) (*labels)[kOomKilledLabel] = "true";
  if (is_oom_killed || worst != nullptr) ++counts_.pressed;
  if (worst == nullptr) return "";
  if (worst->passed_percent != 0) (*labels)[kPressureLabel] = std::to_string(worst->passed_percent);
  if (worst->is_stalled) (*labels)[kStalledLabel] = "true";
  const std::string text =
      fmt::format("{} {} {}{}{}", worst->passed_percent != 0 ? "its group" : "processes of its group",
                  worst->group, pressure_text(*worst), profile::holder_text(profile), stall_text(*worst));
  notes_.push_back(labels->at(kServiceLabel) + ": " + text);
  return text;
}

void Shipper::look(const std::vector<Pressure>& pressures) {
  processes_.find();
  processes_.bound_names();
  stacks_.begin_look();
  know_groups(pressures);
  std::map<std::string, Group> groups;
  for (auto& [arena, process] : processes_.all()) groups[label_hash(process.labels)].push_back(&process);
  counts_.processes = processes_.all().size();
  if (!has_forgotten_) {
    const std::vector<std::string> there = processes_.keys_there();
    if (!processes_.is_chosen()) counts_.lost_ends += spool_.forget_but(there);
    has_forgotten_ = true;
  }
  const int64_t time_ms = spool_.next_time(time_now_ms());
  for (const auto& [hash, group] : groups) look_at(hash, group, time_ms);
}

void Shipper::say_once(const std::string& problem) {
  if (problem != problem_ && !problem.empty()) {
    if (say_) {
      say_(problem);
    } else {
      complain("ship: " + problem);
    }
  }
  problem_ = problem;
}

void Shipper::look_at(const std::string& hash, const Group& group, int64_t time_ms) {
  GroupLook now(stacks_, hash);
  Baseline before = spool_.baseline_of(hash);
  Baseline baseline;
  baseline.time_ms = time_ms;
  AllocTotals allocated;
  std::vector<std::string> ended;
  size_t seen = 0;
  for (ShippedProcess* process : group) {
    // One whose labels are others now has its baseline with those of before.
    const auto known = before.processes.find(process->arena);
    StackTotals totals =
        known != before.processes.end() ? std::move(known->second) : spool_.totals_of(process->arena);
    Known& here = known_.at(process);
    const bool has_ended = here.has_ended;
    std::optional<profile::Profile> profile = std::move(here.profile);
    if (!profile && has_ended) profile = profile_of(processes_, *process);
    const bool has_levels = !has_ended || process->left.holds || here.is_oom_killed;
    std::optional<AllocTotals> more;  // nothing: it cannot be read, or nothing is left of it
    if (profile) {
      more = now.add(std::move(*profile), &totals, has_levels);
    } else if (!has_ended) {
      more = if_readable([&] { return now.add(*process, &totals); });
    }
    // What a process of a run left is in hand at the run's end.
    const bool comes_again = !has_ended || (!more && processes_.is_of_run() && process->left.path.empty());
    if (!comes_again) ended.push_back(process->arena);
    if (!more) {
      ++(comes_again ? counts_.unreadable : counts_.lost_ends);
    } else {
      ++seen;
      allocated.objects += more->objects;
      allocated.bytes += more->bytes;
    }
    if (!more ? comes_again : !has_ended) baseline.processes.emplace(process->arena, std::move(totals));
  }
  if (seen != 0) {
    counts_.known += now.known_processes();
    counts_.new_stacks += now.new_stacks();
    profile::Profile profile = now.take();
    const int64_t last_ms = before.time_ms;
    profile.time_unix_ns = static_cast<uint64_t>(time_ms * kMsNs);
    profile.duration_ns =
        last_ms > 0 && last_ms < time_ms ? static_cast<uint64_t>((time_ms - last_ms) * kMsNs) : 0;
    Labels labels = group.front()->labels;
    const std::string short_of_memory = tell_pressure(group, profile, &labels);
    profile.comments = {
        std::string(profile::kLabelsComment) + profile::json_to_text(Json(labels)),
        fmt::format("shipped by memprof: what was allocated is that since the look before; {} of {} "
                    "processes",
                    seen, group.size())};
    if (!short_of_memory.empty()) profile.comments.push_back(short_of_memory);
    const ShippedProfile shipped = write_shipped(std::move(profile));
    Look look;
    look.time_ms = time_ms;
    look.labels = std::move(labels);
    look.allocated = allocated;
    look.pprof = shipped.pprof;
    if (!spool_.has_room(look.pprof.size())) {
      ++counts_.delayed;
      say_once("the spool " + spool_.folder() +
               " is full (--spool-limit); looks are delayed until targets take some");
      return;
    }
    try {
      queue_(spool_.commit(hash, baseline, std::move(look)));
    } catch (const profile::Error& error) {
      ++counts_.delayed;
      say_once(std::string("a look is delayed: ") + error.what());
      return;
    }
    say_once("");
    allocated_bytes_ += allocated.bytes;
    ++counts_.looks;
    counts_.small_stacks += shipped.folded_stacks;
  }
  for (const std::string& arena : ended) processes_.remove(arena);
}

}  // namespace memprof::cli
