// SPDX-License-Identifier: Apache-2.0
// What the header of a report says of the peak besides its bytes and blocks, of an end by the OOM killer, and of memory that
// got short.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// When the heap was at its highest, and what the system says of the process then and at most.  `heap_bytes`: 0, no
// sample tells them, and what was resident is not divided.
std::vector<std::string> peak_moment_lines(const ProfileFacts& facts, double heap_bytes);

// In place of its bytes and blocks where there are samples, but none tells the peak.  `listed`: the metric of the
// report.
std::vector<std::string> untold_peak_lines(const ProfileFacts& facts, Metric listed);

// "killed by the OOM killer at the memory limit of its group, 512.0 MiB".  0: there was no such limit.
std::string oom_kill_text(uint64_t memory_limit_bytes);
// "app (pid 12) was killed by the OOM killer ...": of a process.
std::string oom_kill_text(const std::string& program, uint64_t pid, uint64_t memory_limit_bytes);

// In the first line of a report: ", at 95 % of the memory limit of its group, 200.0 MiB" or ", while processes of its group
// waited for memory" of a look that was taken for that, and the end by the OOM killer.  "": none of it.
std::string short_of_memory_text(const ProfileFacts& facts);
// What else is known of such a look: no line or one.
std::vector<std::string> pressure_lines(const ProfileFacts& facts);

}  // namespace memprof::profile
