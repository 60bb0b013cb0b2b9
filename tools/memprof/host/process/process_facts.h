// SPDX-License-Identifier: Apache-2.0
// What /proc says of a process that `memprof doctor` wants to know.
//
// Threads: no state.
// Failure: what cannot be read is empty, or its default.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memprof::cli {

struct ProcessFacts {
  int error = 0;                     // errno of its memory map; 0: everything below is known
  std::vector<std::string> modules;  // paths of files that it has mapped as code, as it sees them
  std::map<std::string, std::string> environment;  // as it was started with
  int seccomp_mode = 0;                            // 1 strict, 2 filter
  bool has_other_root = false;                     // it sees other files than we do
  bool has_other_pids = false;                     // and other process ids
  uint64_t file_size_limit_bytes = UINT64_MAX;
  uint64_t address_space_limit_bytes = UINT64_MAX;
};

ProcessFacts read_process_facts(uint64_t pid);

}  // namespace memprof::cli
