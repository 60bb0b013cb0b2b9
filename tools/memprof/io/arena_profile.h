// SPDX-License-Identifier: Apache-2.0
// The arena of a process, alive or dead, as a profile.
//
// Threads: no state.
// Failure: throws profile::Error "PATH: what is wrong".
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::cli {

struct ArenaContent {
  std::string pprof;       // without names
  bool has_ended = false;  // the process came to its end by itself
  uint64_t start_ns = 0;   // when it was made, on a clock of the machine
};

ArenaContent read_arena(const std::string& path);

// Whether the file is called as arenas are.
bool is_arena_path(const std::string& path);

}  // namespace memprof::cli
