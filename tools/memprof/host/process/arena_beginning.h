// SPDX-License-Identifier: Apache-2.0
// What the file of an arena begins with.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// What a file begins with, read without mapping it: whoever may write it may also make it shorter.
struct ArenaBeginning {
  bool is_file = false;    // false: it cannot be opened, is a link, a pipe, ...
  bool is_begun = false;   // false: its process has not written yet what it is, or was killed before
  uint64_t run_token = 0;  // of the run that its process belongs to
};
ArenaBeginning read_beginning(const std::string& path);

// false: its process has not written yet what it is, or was killed before: nothing was recorded.
bool is_begun(const std::string& path);

}  // namespace memprof::cli
