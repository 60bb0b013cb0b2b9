// SPDX-License-Identifier: Apache-2.0
// The files that the arenas of profiled processes lie in, and whether those processes live.
//
// Their names: format/files/arena_name.h.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memprof/host/process/arena_beginning.h"

namespace memprof::cli {

struct ArenaFile {
  std::string path;
  uint64_t pid = 0;
  uint64_t pid_namespace = 0;
  uint64_t process_start = 0;  // tells processes that had one id, one after the other; 0: unknown
};

// Whether what wrote an arena is still there.
enum class Owner {
  kLives,
  kIsGone,
  kUnknown,  // its process id is of another namespace, of whose processes we see none with that id
};

// And no link to one: others can make files in the folders where arenas are.
bool is_plain_file(const std::string& path);
// Whether a path ends in a name as arenas have it.
bool is_arena(const std::string& path);

// All in a folder; none where it cannot be read.
std::vector<ArenaFile> find_arenas(const std::string& folder);

Owner owner_of(const ArenaFile& file);

// Whether its process id means here what it meant there.
bool is_same_namespace(const ArenaFile& file);

// A run's folder for the arenas of its processes: memprof-run-PID-NAMESPACE-XXXXXX, of the memprof that runs
// it.
std::string run_folder_name();
bool parse_run_folder(const std::string& name, ArenaFile* memprof);

// The arena that the process has mapped, as a path that this process can open; empty: it has none.  Sees into
// containers, given the right to.  *error: the errno, where the process cannot be looked at.
std::string arena_of_process(uint64_t pid, int* error);

// Where arenas of programs that this process starts are by default (format/files/arena_name.h); empty: nowhere is wanted.
std::string arena_parent();

}  // namespace memprof::cli
