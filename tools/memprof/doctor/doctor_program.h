// SPDX-License-Identifier: Apache-2.0
// Checks of a program's files, before it is started or while it runs: whose malloc it calls, what its stacks
// and names will be.
//
// Threads: no state.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "memprof.h"
#include "memprof/doctor/doctor_checks.h"

namespace memprof::cli {

// What the library says of the language runtimes in a process that is profiled, by ids from 1 on.
using RuntimesSeen = std::array<memprof_runtime_stats, MEMPROF_MAX_RUNTIMES>;

struct ProgramFiles {
  std::string path;                           // the executable, as we open it
  std::string shown;                          // and as its user knows it
  std::vector<std::string> libraries;         // as we open them
  std::string python_malloc;                  // its PYTHONMALLOC; empty: not set
  std::string memprof_python;                 // its MEMPROF_PYTHON; empty: not set
  std::string memprof_node;                   // its MEMPROF_NODE; empty: not set
  std::optional<RuntimesSeen> runtimes_seen;  // of one that is profiled
};

void check_program(const ProgramFiles& files, Checks* checks);

// Of a program that is about to be started, in the environment of this process.
ProgramFiles files_of(const std::string& program);

// Of a CMD: whether it can be started with the library in it, and then its files.
void check_command(const std::string& command, Checks* checks);

}  // namespace memprof::cli
