// SPDX-License-Identifier: Apache-2.0
// The processes of a run that are worth no file: shells and other helpers of a wrapper (pyenv, nvm, npm), which held next
// to nothing beside the program that the run is for.
//
// Model: "next to nothing" is small by itself and beside the largest process of the run.  Processes of a program
// that another process with a file is of have files, too: workers, and who started them, are compared.  Of others than the
// started process nobody knows whether they were killed or executed a program that had no sample.
// Threads: plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memprof/run/processes/process_collector.h"

namespace memprof::cli {

struct SmallProcesses {
  static constexpr double kMaxHeldBytes = 2.0 * 1024 * 1024;
  static constexpr double kMaxAllocatedBytes = 8.0 * 1024 * 1024;
  static constexpr uint64_t kMaxResidentBytes = uint64_t{16} * 1024 * 1024;
  static constexpr double kShareOfLargest = 0.25;

  uint64_t count = 0;
  double allocated_bytes = 0;  // by all of them, as estimated
};

// Takes them out of `processes`, those without a sample never: they have no file anyway.  `started`: the id of the process
// that was started.
SmallProcesses take_small_processes(std::vector<ProcessProfile>* processes, uint64_t started);

}  // namespace memprof::cli
