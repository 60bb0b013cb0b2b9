// SPDX-License-Identifier: Apache-2.0
// What has to be known of a process before one of its threads is stopped, read without touching it.
//
// Threads: no state.
// Failure: throws Failure with status 1: why nothing can be loaded into this process, and the way out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memprof/attach/linux/target/target_image.h"
#include "memprof/attach/linux/target/target_memory.h"
#include "memprof/attach/linux/target/unsafe_code.h"

namespace memprof::cli {

constexpr int kRefused = 1;  // the exit status

struct Target {
  uint64_t pid = 0;
  std::string shown;     // "process 3069 (redis-server)"
  std::string identity;  // of the program (program_identity)
  std::string auxiliary_vector;
  std::vector<MemoryRange> ranges;
  std::vector<TargetImage> images;
  UnsafeCode unsafe;
  std::optional<TargetImage> musl;            // the C library and loader of a process of musl
  std::map<std::string, uint64_t> c_library;  // addresses of the functions that are called there
  uint64_t sigreturn_code = 0;                // of the C library or the kernel's own
  uint64_t system_call_code = 0;              // of the C library (processor::system_call_code)
  std::map<std::string, uint64_t> memprof;    // those of libmemprof.so; empty: it is not loaded

  uint64_t call(const std::string& name) const { return c_library.at(name); }
};

// Of what memprof exports.
constexpr const char* kMemprofCalls[] = {"memprof_init", "memprof_start", "memprof_stop", "memprof_set_rate",
                                         "memprof_attach_prepare_hooks"};

Target survey(uint64_t pid);

// The beginning of a survey, for who needs no more: pid and shown of a process that is there and is not this one; then
// its identity, its auxiliary vector and its ranges, of memory that may be read.
Target find_target(uint64_t pid);
TargetMemory read_ranges(Target* target);

// kMemprofCalls of an image that is memprof's library; empty: it is another one.
std::map<std::string, uint64_t> memprof_functions(const TargetImage& image);

// Field of /proc/PID/status; "": none.
std::string status_field(uint64_t pid, const std::string& name);

// "process 3069 (redis-server)"
std::string describe_process(uint64_t pid);

// Why ptrace was refused, and the way out.
std::string ptrace_refusal(uint64_t pid, const std::string& shown, int error);

}  // namespace memprof::cli
