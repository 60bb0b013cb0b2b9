// SPDX-License-Identifier: Apache-2.0
// Whether the system's OOM killer ended processes of a run, and which.
//
// Model: the kernel counts its kills for a group of processes (cgroup) and for the machine.  Those of the run that did not
// come to their end by themselves were killed so, as many as there were kills (host/process/oom_victims.h).
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memprof/host/process/group_memory.h"
#include "memprof/run/run_output.h"

namespace memprof::cli {

// What the kernel counted when the run began.  `root`: what stands before /proc and /sys.
class OomWatch {
 public:
  explicit OomWatch(std::string root = "");

  // How many were killed since.
  uint64_t kills() const { return group_.kills().since(before_); }
  // Of the group, 0: none.
  uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  const ProcessGroup group_;
  const OomKills before_;
  uint64_t limit_bytes_ = 0;
};

// Says of `outputs` which were killed; `started`: of the process that was started, which ended by SIGKILL or did not.
void mark_oom_killed(std::vector<RunOutput>* outputs, uint64_t kills, uint64_t limit_bytes, uint64_t started,
                     bool started_was_killed);

// "app (pid 12) was killed by the OOM killer at the memory limit of its group, 512.0 MiB; handle held 61 % of 480.2 MiB".
// Of one that was; its profile is at output.path, or what holds its memory is left out.
std::string oom_kill_line(const RunOutput& output);

}  // namespace memprof::cli
