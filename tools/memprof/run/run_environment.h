// SPDX-License-Identifier: Apache-2.0
// What `memprof run` puts into the environment of the program that it starts: the library, and what that is to do.
//
// Threads: no state.
// Failure: throws Failure where the library is not found, or cannot be preloaded from its path.
#pragma once

#include <cstdint>
#include <string>

#include "memprof/host/program/target_program.h"
#include "memprof/io/temporary_folder.h"
#include "memprof/run/child_process.h"
#include "memprof/run/run_options.h"

namespace memprof::cli {

// The libraries for programs of both C libraries; that for musl is empty where there is none.
struct Libraries {
  std::string glibc;
  std::string musl;
};

// `folder`: for links to them, from a path that LD_PRELOAD can hold.
Libraries find_libraries(const TemporaryFolder& folder);

// `arenas`: the folder for them, or empty.  `profiles`: for processes whose arena cannot be read.
ChildProcess::Environment environment_for(const RunOptions& options, const TargetProgram& target,
                                          const Libraries& libraries, const std::string& arenas,
                                          const std::string& profiles, uint64_t run_token);

}  // namespace memprof::cli
