// SPDX-License-Identifier: Apache-2.0
// A process that `memprof live` looks at: found by id or by the name of its program, and what the system says
// of it.
//
// Threads: no state.
// Failure: throws Failure, which says what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

struct RunningProcess {
  uint64_t pid = 0;
  uint64_t start_ns = 0;  // when it was started, since the machine was; 0: unknown
  std::string program;    // name of the executable
  std::string arena;      // a path that this process can open
  std::string root;       // where its files are seen from here, if it sees other ones than we do; else ""
};

// `text`: a process id.
RunningProcess find_process(const std::string& text);
// Processes by the name of their executable; where no executable has it, by their command line (command_names.h): the
// script of an interpreter, a module, a title.  Those that memprof is loaded into, one at least, ascending.
std::vector<RunningProcess> find_processes_named(const std::string& name);
// The only one that memprof is loaded into.
RunningProcess find_process_named(const std::string& name);
// The only one, with memprof or without.
uint64_t find_any_process_named(const std::string& name);

// 0: it is gone, or hidden.
uint64_t resident_bytes(uint64_t pid);

bool is_running(uint64_t pid);

// Whether it runs as the user of this process.
bool is_own_process(uint64_t pid);

// Whether there is nothing at `path`; not: whatever is there may not be looked at.
bool is_missing(const std::string& path);

// Whether it sees other files than we do, as in a container.
bool has_other_root(uint64_t pid);

// Name of the executable; "": unknown.
std::string program_of(uint64_t pid);

// A path that opens the executable of a process that runs, also where the file was removed or is of another root.
std::string executable_of(uint64_t pid);

// The name that the system shows of the process's first thread, at most 15 bytes, also of one that has ended and was not
// waited for; "": unknown.
std::string short_name_of(uint64_t pid);

}  // namespace memprof::cli
