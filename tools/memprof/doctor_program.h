// SPDX-License-Identifier: Apache-2.0
// Checks of a program's files, before it is started or while it runs: whose malloc it calls, what its stacks
// and names will be.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "memprof/doctor_checks.h"

namespace memprof::cli {

struct ProgramFiles {
  std::string path;                    // the executable, as we open it
  std::string shown;                   // and as its user knows it
  std::vector<std::string> libraries;  // as we open them
  std::string python_malloc;           // its PYTHONMALLOC; empty: not set
};

void check_program(const ProgramFiles& files, Checks* checks);

// Of a CMD: whether it can be started with the library in it, and then its files.
void check_command(const std::string& command, Checks* checks);

}  // namespace memprof::cli
