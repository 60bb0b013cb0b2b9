// SPDX-License-Identifier: Apache-2.0
// The folders that arenas of profiled processes lie in.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "memprof/host/process/arena_files.h"

namespace memprof::cli {

// $MEMPROF_ARENA_DIR; if that is not set, /dev/shm, $TMPDIR and /tmp: those that are there, each once, without links.
std::vector<std::string> arena_places();

// Of a `memprof run`, which reads the arenas in it when its processes end.
struct RunFolder {
  std::string path;
  Owner owner = Owner::kUnknown;  // whether that memprof goes on
};

// Those of this user (of all users: for root) in a place.
std::vector<RunFolder> run_folders(const std::string& place);

}  // namespace memprof::cli
