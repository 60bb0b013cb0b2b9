// SPDX-License-Identifier: Apache-2.0
// One look after the other at running processes: one, several, or all of a run, also those that start later.
//
// Model: of one process a look is its profile.  Those of several are merged, each stack with the process that
// it is of; a process that has ended is in no further look.
//
// Threads: one command's own.
// Failure: throws profile::Error, and Failure where there is nothing to look at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/host/process/running_process.h"
#include "memprof/io/process_looks.h"
#include "memprof/live/look_source.h"

namespace memprof::cli {

class LiveLooks : public LookSource {
 public:
  // `whole_run`: also the other processes of the run that the first belongs to.
  // `has_resident`: each look has what of blocks is in memory.
  LiveLooks(const std::vector<RunningProcess>& processes, bool whole_run, AskServers ask_servers,
            bool has_resident = false);

  profile::LiveLook look() override;
  std::optional<profile::LiveLook> look_at_end() override;
  const std::vector<uint64_t>& pids() const override { return pids_; }
  bool is_there() const override;
  std::string ending() const override;
  // The one where there is only one.
  ProcessLooks& single() { return *looks_.front(); }

 private:
  void add(const RunningProcess& process);
  void add_those_of_the_run();
  profile::LiveLook look_at_all();

  const bool whole_run_;
  const AskServers ask_servers_;
  const bool has_resident_;
  uint64_t run_token_ = 0;
  std::vector<uint64_t> pids_;
  std::string folder_;  // where the run's arenas are
  std::shared_ptr<profile::SharedNames> names_;
  ResidentMemory last_resident_;                      // of the one, where there is only one
  std::vector<std::unique_ptr<ProcessLooks>> looks_;  // also of those that have ended
};

}  // namespace memprof::cli
