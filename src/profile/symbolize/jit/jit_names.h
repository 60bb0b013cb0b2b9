// SPDX-License-Identifier: Apache-2.0
// Finds the files in which a process says what its JIT code is, and reads from them.
//
// Files in a folder that all may write to are believed only if they are the user's own (or root's), and not
// older than the process: process ids are used again.
//
// Threads: no state.
// Failure: a file that cannot be used is as if it were not there; the code stays without names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/symbolize/jit/jit_frame.h"

namespace memprof::profile {

struct JitProcess {
  uint64_t pid = 0;
  uint64_t start_unix_ns = 0;  // files that were last written before are another process's; 0: unknown
  std::vector<std::string> mapped_dumps;  // paths of jit-PID.dump files that the process had mapped
  std::vector<std::string> folders = {"/tmp", "."};  // where else to look
};

// `addresses` in ascending order.  jitdump goes before perf-PID.map: it has lines.
std::vector<JitFrame> find_jit_names(const JitProcess& process, const std::vector<uint64_t>& addresses);

}  // namespace memprof::profile
