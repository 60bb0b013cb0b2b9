// SPDX-License-Identifier: Apache-2.0
// What the system says of the memory of processes, and of the control group (cgroup v2) of the first of them.
//
// Threads: no state.
// Failure: what cannot be read is missing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memprof::cli {

// Of all of them together, by name: rss_bytes, pss_bytes, swap_bytes, major_faults; of the group: cgroup_bytes,
// cgroup_limit_bytes, and how often: cgroup_high_events, cgroup_max_events, cgroup_oom_events,
// cgroup_oom_kill_events.
std::map<std::string, uint64_t> read_memory_figures(const std::vector<uint64_t>& pids);

// Adds pss_bytes.  The system walks the page tables of each process for it, for some 10 ms a GiB, and what maps and
// unmaps memory there may have to wait.
void add_proportional_size(const std::vector<uint64_t>& pids, std::map<std::string, uint64_t>* figures);

}  // namespace memprof::cli
