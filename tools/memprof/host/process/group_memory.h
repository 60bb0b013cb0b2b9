// SPDX-License-Identifier: Apache-2.0
// The memory that a group of processes (cgroup: a container, a service) may have, and has.
//
// Threads: plain values.
// Failure: what cannot be read is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memprof/host/system/memory_stall.h"

namespace memprof::cli {

// How many processes the system's OOM killer has ended, for whatever reason.
struct OomKills {
  std::optional<uint64_t> in_group;    // with groups in it where the system counts them there
  std::optional<uint64_t> on_machine;  // since it was started; read where there is no count of the group

  // How many there were since `before`.  The machine's count, which has those of other groups, too, is asked only where the
  // group never had one.
  uint64_t since(const OomKills& before) const {
    const std::optional<uint64_t> then = before.in_group ? before.in_group : before.on_machine;
    const std::optional<uint64_t> now = before.in_group ? in_group : on_machine;
    return then && now && *now > *then ? *now - *then : 0;
  }
};

struct GroupUse {
  uint64_t limit_bytes =
      UINT64_MAX;           // of the group, or of one around it that is fuller; UINT64_MAX: no limit
  uint64_t used_bytes = 0;  // of that limit, without pages of files that the system drops before it kills
  OomKills kills;

  // Of the limit; 0 where there is none.
  double percent() const {
    if (limit_bytes == 0 || limit_bytes == UINT64_MAX) return 0;
    return 100 * static_cast<double>(used_bytes) / static_cast<double>(limit_bytes);
  }
};

class ProcessGroup {
 public:
  // The group that a process is in now; it may be asked when the process is gone.  `root`: what stands before /proc and
  // /sys.
  static ProcessGroup of_this_process(std::string root = "");
  static ProcessGroup of(uint64_t pid, std::string root = "");

  // As the system calls it, "/system.slice/web.service"; "": the process is gone, or in no group that counts memory.
  const std::string& name() const { return name_; }
  // The least of the group's and of those around it, as the library finds it (src/platform/linux/memory/cgroup_limit.h);
  // UINT64_MAX: no limit.
  uint64_t limit_bytes() const;
  OomKills kills() const;
  // Both, and what is used; reads more files.  Pages of files are told apart, which costs the most, only where with them
  // `exact_percent` of the limit are used: below that, `used_bytes` has them.
  GroupUse use(double exact_percent = 0) const;
  // Of the group, where the system counts it there (version 2), or else of the machine.
  std::optional<MemoryStall> stall() const;

 private:
  // A folder for each hierarchy that counts memory: of version 1, of version 2, or both.
  struct Place {
    bool is_unified = false;           // version 2
    std::vector<std::string> folders;  // the group's own first, then those around it
    std::string kills;                 // the file that counts them; "": there is none
  };

  ProcessGroup(const std::string& process, std::string root);

  std::string root_;
  std::string name_;
  std::vector<Place> places_;
  std::string stall_;  // the file that has the group's; "": there is none
};

}  // namespace memprof::cli
