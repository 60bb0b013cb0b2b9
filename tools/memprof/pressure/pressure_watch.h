// SPDX-License-Identifier: Apache-2.0
// Watches how full the groups of processes (cgroups) are, how long their processes wait for memory, and whether the OOM
// killer ended some of them.
//
// Model: a group is new at each of 80, 90 and 95 % of its limit that it passes, and again after it fell 5 % below that:
// one that goes up and down around a mark is told once.  Files' pages that the system drops before it kills do not count.
// It is new, too, when its processes waited for memory in 15 % of the last ten seconds (PSI), and again after that fell
// below 5 %, once a minute at most.  Where the system has that for the machine only it tells nothing of the group, and is
// a figure.
//
// Threads: one command's own.
// Failure: groups that cannot be read have no pressure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memprof/host/process/group_memory.h"
#include "memprof/host/system/memory_stall.h"

namespace memprof::cli {

// Of a group, what is new.
struct Pressure {
  std::string group;
  std::set<uint64_t> pids;   // of the processes in it that are watched, with those that have just ended
  uint64_t limit_bytes = 0;  // 0: none
  uint64_t used_bytes = 0;
  int passed_percent = 0;  // 80, 90 or 95: the highest; 0: none
  bool is_stalled = false;
  std::optional<MemoryStall> stall;
  uint64_t kills = 0;  // by the OOM killer
};

class PressureWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `root`: what stands before /proc and /sys.  `again`: after so long it is asked again which group a process is in, which
  // may be moved.  `stall_pause`: between two stalls of a group that are told.
  explicit PressureWatch(std::string root = "", Clock::duration again = std::chrono::seconds(15),
                         Clock::duration stall_pause = std::chrono::minutes(1))
      : root_(std::move(root)), again_(again), stall_pause_(stall_pause) {}

  // `pids`: of the processes that are watched now.
  std::vector<Pressure> check(const std::set<uint64_t>& pids);

  // The mark above so much of a limit; 0: there is none.
  static int next_mark(double percent);

  // Of the last check.  Of its limit what the fullest group uses, at least; no limit: nothing.
  const std::optional<double>& fullest_percent() const { return fullest_percent_; }
  // Of the group that waited the most; of the machine where the system has it for no group.
  const std::optional<MemoryStall>& longest_stall() const { return longest_stall_; }

 private:
  struct Watched {
    ProcessGroup group;
    OomKills kills;
    int passed_percent = 0;
    std::set<uint64_t> pids;
    bool is_stalled = false;  // told, and not below 5 % since
    Clock::time_point next_stall{};
  };

  bool is_new_stall(const std::optional<MemoryStall>& stall, Watched* watched) const;

  void follow(const std::set<uint64_t>& pids);
  bool has_moved(uint64_t pid, const std::string& group) const;
  void forget(uint64_t pid);

  const std::string root_;
  const Clock::duration again_;
  const Clock::duration stall_pause_;
  Clock::time_point next_{};
  std::map<std::string, Watched> groups_;     // by name
  std::map<uint64_t, std::string> group_of_;  // of processes; "": none
  std::optional<double> fullest_percent_;
  std::optional<MemoryStall> longest_stall_;
};

}  // namespace memprof::cli
