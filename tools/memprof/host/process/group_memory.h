// SPDX-License-Identifier: Apache-2.0
// The memory that this process's group (a container, a service) may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memprof::cli {

// As the library finds it (src/platform/linux/memory/cgroup_limit.h).  `root`: what stands before /proc and /sys;
// UINT64_MAX: no limit.
uint64_t group_memory_limit(const std::string& root = "");

// How many processes the system's OOM killer has ended, for whatever reason.
struct OomKills {
  std::optional<uint64_t>
      in_group;  // of this process's group, with groups in it where the system counts them there
  std::optional<uint64_t> on_machine;  // since it was started
};
OomKills count_oom_kills(const std::string& root = "");

}  // namespace memprof::cli
