// SPDX-License-Identifier: Apache-2.0
// Where the system tells of a process.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// "/proc/PID/NAME"
inline std::string proc_path(uint64_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

}  // namespace memprof::cli
