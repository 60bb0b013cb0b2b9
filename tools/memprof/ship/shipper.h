// SPDX-License-Identifier: Apache-2.0
// Takes looks at processes, makes one profile of those with the same labels, and puts it into the spool.
//
// Threads: one command's own.
// Failure: what one process does not show is left out and counted; a look that the spool has no room for is delayed: the
// next one has what was allocated since the last that it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memprof/host/system/memory_stall.h"
#include "memprof/pressure/pressure_watch.h"
#include "memprof/ship/looks/known_stacks.h"
#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/spool/spool.h"
#include "profile/model/model.h"

namespace memprof::cli {

// Since the shipper began.
struct LookCounts {
  uint64_t looks = 0;                // that are in the spool, or were
  uint64_t delayed = 0;              // for want of room
  uint64_t unreadable = 0;           // looks at a process that could not be read
  uint64_t lost_ends = 0;            // processes whose last allocations nobody saw
  uint64_t known = 0;                // looks at a process of which only the values of stacks were read
  uint64_t new_stacks = 0;           // that such looks found, and named
  uint64_t small_stacks = 0;         // that are in "(small stacks)"
  size_t processes = 0;              // of the last round
  uint64_t pressed = 0;              // looks because a group's memory was short, or because of the OOM killer
  uint64_t oom_killed = 0;           // processes that the OOM killer ended
  std::optional<MemoryStall> stall;  // of the group that waited the most for memory, or of the machine
};

class Shipper {
 public:
  // `queue`: takes each look that is in the spool.
  // `say`: takes what goes wrong; without it that goes to standard error.
  Shipper(ShippedProcesses& processes, Spool& spool, std::function<void(const QueuedLook&)> queue,
          std::function<void(const std::string&)> say = {});

  // A look at all processes.  `pressures`: what is new of their groups; looks at those say so in their labels
  // (memory_pressure, memory_stalled, oom_killed), and take_notes() says who holds the memory.
  void look(const std::vector<Pressure>& pressures = {});
  // Since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  const LookCounts& counts() const { return counts_; }
  // In all looks that are in the spool, or were, since the shipper began.
  int64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  using Group = std::vector<ShippedProcess*>;

  // What is known of a process before its look is made.
  struct Known {
    const Pressure* pressure = nullptr;       // of its group; none: nothing is new
    std::optional<profile::Profile> profile;  // of one that the OOM killer may have ended
    bool has_ended = false;
    bool is_oom_killed = false;
  };

  void know_groups(const std::vector<Pressure>& pressures);
  void wait_for_ends(const Pressure& pressure);
  void mark_killed(const Pressure& pressure);
  // Adds to the labels what is new of the processes' groups, and says it; `profile`: of all of them.  Returns what it said of
  // memory that gets short.
  std::string tell_pressure(const Group& group, const profile::Profile& profile, Labels* labels);
  void look_at(const std::string& hash, const Group& group, int64_t time_ms);
  void say_once(const std::string& problem);

  ShippedProcesses& processes_;
  Spool& spool_;
  const std::function<void(const QueuedLook&)> queue_;
  const std::function<void(const std::string&)> say_;
  std::map<ShippedProcess*, Known> known_;  // of this look
  KnownStacks stacks_;
  std::vector<std::string> notes_;
  LookCounts counts_;
  int64_t allocated_bytes_ = 0;
  bool has_forgotten_ = false;  // what ended while no shipper ran
  std::string problem_;
};

// Milliseconds since 1970.
int64_t time_now_ms();

}  // namespace memprof::cli
