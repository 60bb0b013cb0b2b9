// SPDX-License-Identifier: Apache-2.0
// What /proc/PID/stat says of a process, in three system calls: for looks that come often.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

struct ProcessStat {
  uint64_t pid = 0;
  uint64_t parent = 0;
  uint64_t start = 0;
  uint64_t stack_start = 0;  // 0: it is hidden from us
  uint64_t code_bytes = 0;   // of the program itself; 0: hidden
  std::string name;          // the kernel's, at most 15 bytes
  char state = '?';

  bool has_memory() const { return state != 'Z' && state != 'X'; }
  // Whether the process executed another program in between, as far as this shows it.
  bool has_program_of(const ProcessStat& other) const {
    return stack_start == other.stack_start && code_bytes == other.code_bytes && name == other.name;
  }

  // false: there is none.  A thread's id gives what its process has, but for the start.
  bool read(uint64_t id);
  // The same from the file's text.
  bool parse(uint64_t id, const std::string& text);
};

}  // namespace memprof::cli
