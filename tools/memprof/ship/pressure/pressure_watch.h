// SPDX-License-Identifier: Apache-2.0
// Watches how full the groups of processes (cgroups) are, and whether the OOM killer ended some of them.
//
// Model: a group is new at each of 80, 90 and 95 % of its limit that it passes, and again after it fell 5 % below that:
// one that goes up and down around a mark is told once.  Files' pages that the system drops before it kills do not count.
//
// Threads: one command's own.
// Failure: groups that cannot be read have no pressure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "memprof/host/process/group_memory.h"

namespace memprof::cli {

// Of a group, what is new.
struct Pressure {
  std::string group;
  std::set<uint64_t> pids;   // of the processes in it that are watched, with those that have just ended
  uint64_t limit_bytes = 0;  // 0: none
  uint64_t used_bytes = 0;
  int passed_percent = 0;  // 80, 90 or 95: the highest; 0: none
  uint64_t kills = 0;      // by the OOM killer
};

class PressureWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `root`: what stands before /proc and /sys.  `again`: after so long it is asked again which group a process is in, which
  // may be moved.
  explicit PressureWatch(std::string root = "", Clock::duration again = std::chrono::seconds(15))
      : root_(std::move(root)), again_(again) {}

  // `pids`: of the processes that are watched now.
  std::vector<Pressure> check(const std::set<uint64_t>& pids);

 private:
  struct Watched {
    ProcessGroup group;
    OomKills kills;
    int passed_percent = 0;
    std::set<uint64_t> pids;
  };

  void follow(const std::set<uint64_t>& pids);
  bool has_moved(uint64_t pid, const std::string& group) const;
  void forget(uint64_t pid);

  const std::string root_;
  const Clock::duration again_;
  Clock::time_point next_{};
  std::map<std::string, Watched> groups_;     // by name
  std::map<uint64_t, std::string> group_of_;  // of processes; "": none
};

}  // namespace memprof::cli
