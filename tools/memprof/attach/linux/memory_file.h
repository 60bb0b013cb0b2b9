// SPDX-License-Identifier: Apache-2.0
// A library as a file in the memory of another process, where that process does not see the file itself (containers).
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// Whether the process finds the same file at this path.
bool sees_file(uint64_t pid, const std::string& path);

// All that a file has, by descriptors.  Returns the errno, or 0.
int copy_file(int from, int to);

// Copies `library` into the memory file that the process has as `fd`, and seals it: nobody can change it any more.
// Returns "", or what is wrong.
std::string fill_memory_file(uint64_t pid, int64_t fd, const std::string& library);

}  // namespace memprof::cli
