// SPDX-License-Identifier: Apache-2.0
// The processes that are shipped: found by their arenas, each with its labels.
//
// Threads: one command's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/running_process.h"
#include "memprof/io/process_looks.h"
#include "memprof/ship/looks/labels.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

// How labels are made.
struct LabelRules {
  Labels fixed;                                         // of --label, --host and --service, for each process
  std::map<std::string, std::string> from_environment;  // label -> the variable of the process
  bool has_pid = false;
};

// `environment`: of the process.
Labels labels_of(const RunningProcess& process, const std::map<std::string, std::string>& environment,
                 const LabelRules& rules);

struct ShippedProcess {
  std::string arena;  // the name of its file, which is its own
  Labels labels;
  std::unique_ptr<ProcessLooks> looks;
};

class ShippedProcesses {
 public:
  // `only`: these and no others; empty: all whose arenas may be read.
  // `sees_containers`: also those that see other files than this process.
  ShippedProcesses(LabelRules rules, std::vector<RunningProcess> only, bool sees_containers = false);

  // Adds those that started since.
  void find();

  std::map<std::string, ShippedProcess>& all() { return all_; }
  // Names of all arenas that are there; nothing: only chosen processes are looked at.
  std::vector<std::string> names_there() const;
  void remove(const std::string& arena);
  // Those that have ended, where nobody takes a last look at them.
  void remove_ended();
  bool is_chosen() const { return is_chosen_; }
  // Whether processes were chosen, and all of them have ended.
  bool is_over() const { return is_chosen_ && all_.empty(); }

  // Names of files that are read take memory: begins anew where it is too much.
  void bound_names();

 private:
  static std::vector<ArenaFile> arenas();
  void look_at(const ArenaFile& file, const std::string& name);
  // Those of containers, whose folders are others: by what processes have mapped.
  void find_in_containers();
  void add(RunningProcess process, const std::string& name);

  const LabelRules rules_;
  const bool is_chosen_;
  const bool sees_containers_;
  std::shared_ptr<profile::SharedNames> names_;
  std::map<std::string, ShippedProcess> all_;
  std::set<uint64_t> looked_at_;  // processes that have no arena, or one that is known
  std::chrono::steady_clock::time_point
      next_all_{};                  // when all processes are looked at again: memprof may be attached
  std::set<std::string> not_ours_;  // arenas of processes that had ended before, or cannot be looked at
};

}  // namespace memprof::cli
