// SPDX-License-Identifier: Apache-2.0
// Starts and stops memprof in a process that runs already, by loading libmemprof.so into it.
//
// Model: the process is surveyed without touching it; one of its threads is stopped where it holds no lock
// (safe_point.h), makes the calls (remote_call.h), and goes on.  The library's file is loaded by its path where the
// process sees the same file, else from a sealed file in memory that the process makes and this command fills.  At a
// second stop it points the process's imports at its hooks.  When threads that were binding such imports meanwhile have
// ended that, a third one starts the recording (0094).
//
// Then all threads are stopped for a moment, in which jumps are written to the functions of allocators inside modules
// (late_hooks.h).
//
// Threads: one, at most one call at a time.
// Failure: throws Failure with status 1: what is wrong, and the way out.  The process goes on unharmed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "memprof/attach/call_times.h"

namespace memprof::cli {

struct AttachOptions {
  std::string library;  // the file to load
  uint64_t rate_bytes = 512 * 1024;
  uint32_t budget_ppm = 0;  // not 0: the rate follows what it costs, from rate_bytes on
  bool python = true;
  bool native_interpreter = false;
  bool follow_fork = false;
  bool mappings = false;                           // that the program makes itself are recorded
  bool inline_hooks = true;                        // of allocators inside modules
  bool force = false;                              // also where a filter of system calls may end the process
  std::function<void(const char* step)> observer;  // for tests
  CallTimes times;                                 // likewise
};

struct AttachResult {
  bool was_loaded = false;  // the library was there before
  bool used_memory_file = false;
  int64_t pause_ns = 0;  // the longest
  int stops = 0;
  std::vector<std::string> hooked;   // allocators inside modules: "jemalloc in server"
  std::vector<std::string> refused;  // likewise, and why
  uint32_t hooked_functions = 0;
};

AttachResult attach_and_start(uint64_t pid, const AttachOptions& options);

// `options`: observer and force.
AttachResult attach_and_stop(uint64_t pid, const AttachOptions& options);

}  // namespace memprof::cli
