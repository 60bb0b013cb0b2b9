// SPDX-License-Identifier: Apache-2.0
// How much of the time processes waited for memory (the kernel's pressure stall information, PSI).
//
// Threads: plain values.
// Failure: what cannot be read, or is not what the kernel writes, is not known.
#pragma once

#include <optional>
#include <string>

namespace memprof::cli {

// Percent of the last ten seconds, 0 to 100.
struct MemoryStall {
  double some = 0;             // in which one process at least waited
  double full = 0;             // in which all that had something to do waited
  bool is_of_machine = false;  // of all its processes; else of a group (cgroup) of them
};

// `path`: /proc/pressure/memory, or memory.pressure of a group of version 2.
std::optional<MemoryStall> read_memory_stall(const std::string& path, bool is_of_machine);

}  // namespace memprof::cli
