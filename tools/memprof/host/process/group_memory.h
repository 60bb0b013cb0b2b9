// SPDX-License-Identifier: Apache-2.0
// The memory that this process's group (a container, a service) may have.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// As the library finds it (src/platform/linux/memory/cgroup_limit.h).  `root`: what stands before /proc and /sys;
// UINT64_MAX: no limit.
uint64_t group_memory_limit(const std::string& root = "");

}  // namespace memprof::cli
