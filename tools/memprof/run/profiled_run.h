// SPDX-License-Identifier: Apache-2.0
// A program from its start to its end under memprof, and the profiles of it: what `memprof run` does, and
// `memprof check` for each of its checks.
//
// Threads: one run at a time, in a program with one thread.
// Failure: throws Failure where the program cannot be run; what was lost on the way is said on standard error.
#pragma once

#include <vector>

#include "memprof/run/run_options.h"
#include "memprof/run/run_output.h"

namespace memprof::cli {

struct FinishedRun {
  int status = 0;                  // of the program, as shells have it
  std::vector<RunOutput> outputs;  // none: nothing was recorded, and why was said
  bool is_written = false;         // all that was recorded is in files
};

FinishedRun run_profiled(const RunOptions& options);

}  // namespace memprof::cli
