// SPDX-License-Identifier: Apache-2.0
// How much memory the cgroup of the process may have: that of containers and services.
//
// Model: /proc/self/cgroup names a folder for each hierarchy; the one of version 2 ("0::/a/b") and that of the
// memory controller of version 1 ("4:memory:/a/b") count.  Every folder from there up to the root can have a
// limit, and the least holds.  In a container the folder may be named as the host sees it and not be there:
// then those above it are what the container sees.
//
// Threads: any.  Allocates: never.  Failure: no limit.
#pragma once

#include <cstdint>

namespace memprof::platform {

// `processes_file`: "/proc/self/cgroup"; `root`: "/sys/fs/cgroup".  UINT64_MAX: no limit.
uint64_t cgroup_memory_limit(const char* processes_file, const char* root);

}  // namespace memprof::platform
