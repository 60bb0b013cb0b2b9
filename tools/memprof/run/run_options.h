// SPDX-License-Identifier: Apache-2.0
// The arguments of `memprof run`.
//
// Failure: throws Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memprof/record/record_options.h"
#include "memprof/run/child_process.h"
#include "memprof/ship/ship_options.h"

namespace memprof::cli {

struct RunOptions {
  std::optional<uint64_t> rate_bytes;  // without one it starts fine
  std::string budget;                  // as given; empty: none
  uint64_t min_rate = 0;               // of the rates that it chooses; 0: the default
  uint64_t max_rate = 0;
  uint64_t memory = 0;                         // that the tables of a process stay within; 0: the default
  std::string output = "memprof.%n.%p.pb.gz";  // a pattern (path_pattern.h)
  bool force = false;
  bool raw = false;                 // names of JIT code only
  bool follow = true;               // the processes that the program starts
  bool merge = false;               // into one file
  bool keep_all = false;            // a file also for small processes (small_processes.h)
  bool python = true;               // look at a CPython: its objects, its frames
  bool inline_hooks = true;         // hook allocators that are inside modules
  bool native_interpreter = false;  // keep the frames of its evaluation loop
  bool mmap = false;                // record the mappings that the program makes itself
  bool ask_servers = true;          // debuginfod's
  bool view = false;                // the profile in the browser, in the end
  bool quiet = false;               // says nothing of the files that were written
  ProgramOutput program_output = ProgramOutput::kOwn;
  std::optional<RecordChoice> record;
  std::optional<ShipChoice> ship;
  std::vector<std::string> command;
  bool wants_help = false;
};

// memprof's options end at `--` or at the first word that is not one: what follows is the program's.
RunOptions parse_run_options(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
