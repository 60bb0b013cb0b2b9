// SPDX-License-Identifier: Apache-2.0
// The processes that are shipped: found by their arenas, each with its labels.
//
// Threads: one command's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/running_process.h"
#include "memprof/io/process_looks.h"
#include "memprof/ship/looks/labels.h"
#include "memprof/ship/looks/relabel.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

// How labels are made.
struct LabelRules {
  Labels fixed;                                         // of --label, --host and --service, for each process
  std::map<std::string, std::string> from_environment;  // label -> the variable of the process
  bool has_pid = false;
  bool has_container = false;
  std::vector<RelabelRule> relabel;  // of --relabel, after the others
};

// `environment`: of the process.  `container_of`: the process whose container is meant, where this one is gone.  Nothing: a
// rule leaves the process out.
std::optional<Labels> labels_of(const RunningProcess& process,
                                const std::map<std::string, std::string>& environment,
                                const LabelRules& rules, std::optional<uint64_t> container_of = std::nullopt);

// The arenas of a run, without those of others.
struct RunArenas {
  std::string folder;
  uint64_t token = 0;  // in each of them
};

// What a process of a run has left behind.
struct LeftBehind {
  std::string arena;  // the name that its file had
  uint64_t pid = 0;
  std::string program;
  std::string path;    // its profile, without names
  bool holds = false;  // it was there until the run's end: what it held then is what the run held
};

struct ShippedProcess {
  std::string arena;  // tells it from others, also for the next shipper
  Labels labels;
  std::unique_ptr<ProcessLooks> looks;  // nullptr: nobody looked at it, and `left` has all of it
  LeftBehind left;                      // path: empty as long as it may go on

  // Also if it executes another program now, whose arena may have the same name.
  bool has_ended() const { return !left.path.empty() || !looks->is_there() || looks->is_replaced(); }
};

class ShippedProcesses {
 public:
  // `only`: these and no others; empty: all whose arenas may be read.
  // `sees_containers`: also those that see other files than this process.
  ShippedProcesses(LabelRules rules, std::vector<RunningProcess> only, bool sees_containers = false);
  // Those of a run.
  static ShippedProcesses of_run(LabelRules rules, RunArenas run);

  // Adds those that started since.
  void find();

  std::map<std::string, ShippedProcess>& all() { return all_; }
  // Of those that are, or were, looked at.
  std::set<uint64_t> pids() const;
  // ShippedProcess::arena of all that are there; nothing: only chosen processes are looked at.
  std::vector<std::string> keys_there() const;
  void remove(const std::string& arena);
  // Of a run that has ended: the next look has what it left, unless one had it.
  void leave(LeftBehind left);
  // With names.  Throws profile::Error.
  profile::Profile left_profile(const ShippedProcess& process);
  bool is_of_run() const { return run_.has_value(); }
  // Those that have ended, where nobody takes a last look at them.
  void remove_ended();
  bool is_chosen() const { return is_chosen_; }
  // Whether processes were chosen, and all of them have ended.
  bool is_over() const { return is_chosen_ && all_.empty(); }

  // Names of files that are read take memory: begins anew where it is too much.
  void bound_names();

 private:
  ShippedProcesses(LabelRules rules, std::vector<RunningProcess> only, bool sees_containers,
                   std::optional<RunArenas> run);
  std::vector<ArenaFile> arenas() const;
  std::string key_of(const std::string& path) const;
  void look_at(const ArenaFile& file, const std::string& key);
  // Of chosen processes that execute another program now.
  void find_their_next();
  // Those of containers, whose folders are others: by what processes have mapped.
  void find_in_containers();
  void add(RunningProcess process, const std::string& key);

  const LabelRules rules_;
  const bool is_chosen_;
  const bool sees_containers_;
  const std::optional<RunArenas> run_;
  std::shared_ptr<profile::SharedNames> names_;
  std::map<std::string, ShippedProcess> all_;
  std::set<uint64_t> looked_at_;  // processes that have no arena, or one that is known
  std::chrono::steady_clock::time_point
      next_all_{};  // when all processes are looked at again: memprof may be attached
  std::set<std::string>
      not_ours_;  // arenas of processes that had ended before, cannot be looked at, or are left out by a rule
  std::set<std::string> seen_to_their_end_;  // of a run
};

}  // namespace memprof::cli
