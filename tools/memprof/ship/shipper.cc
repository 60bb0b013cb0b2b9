// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/shipper.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/ship/looks/alloc_totals.h"
#include "memprof/ship/looks/shipped_profile.h"
#include "profile/compare/merge.h"
#include "profile/fleet/fleet.h"
#include "profile/model/error.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMsNs = 1'000'000;

// Nothing: it cannot be read.
std::optional<profile::Profile> profile_of(ShippedProcesses& all, ShippedProcess& process, bool has_ended) {
  try {
    if (!process.left.path.empty()) return all.left_profile(process);
    if (has_ended) return process.looks->look_at_end();
    return process.looks->look(false);
  } catch (const profile::Error&) {
    return std::nullopt;
  } catch (const Failure&) {
    return std::nullopt;
  }
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

void Shipper::look() {
  processes_.find();
  processes_.bound_names();
  std::map<std::string, Group> groups;
  for (auto& [arena, process] : processes_.all()) groups[label_hash(process.labels)].push_back(&process);
  counts_.processes = processes_.all().size();
  if (!has_forgotten_) {
    const std::vector<std::string> there = processes_.names_there();
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
  profile::Merger merger(profile::Processes::kAddedUp);
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
    const bool has_ended = process->has_ended();
    std::optional<profile::Profile> profile = profile_of(processes_, *process, has_ended);
    // What a process of a run left is in hand at the run's end.
    const bool comes_again = !has_ended || (!profile && processes_.is_of_run() && process->left.path.empty());
    if (!comes_again) ended.push_back(process->arena);
    if (!profile) {
      ++(comes_again ? counts_.unreadable : counts_.lost_ends);
      if (comes_again) baseline.processes.emplace(process->arena, std::move(totals));
      continue;
    }
    ++seen;
    const AllocTotals more = take_increment(&totals, &*profile);
    allocated.objects += more.objects;
    allocated.bytes += more.bytes;
    if (has_ended) {
      if (!process->left.holds) drop_levels(&*profile);
    } else {
      baseline.processes.emplace(process->arena, std::move(totals));
    }
    merger.add(shipped_view(std::move(*profile)));
  }
  if (seen != 0) {
    profile::Profile profile = merger.take();
    const int64_t last_ms = before.time_ms;
    profile.time_unix_ns = static_cast<uint64_t>(time_ms * kMsNs);
    profile.duration_ns =
        last_ms > 0 && last_ms < time_ms ? static_cast<uint64_t>((time_ms - last_ms) * kMsNs) : 0;
    const Labels& labels = group.front()->labels;
    profile.comments = {
        std::string(profile::kLabelsComment) + profile::json_to_text(Json(labels)),
        fmt::format("shipped by memprof: what was allocated is that since the look before; {} of {} "
                    "processes",
                    seen, group.size())};
    const ShippedProfile shipped = write_shipped(std::move(profile));
    Look look;
    look.time_ms = time_ms;
    look.labels = labels;
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
