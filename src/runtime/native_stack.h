// SPDX-License-Identifier: Apache-2.0
// The native frames of a thread, as the platform's walk found them, for the runtime that merges its own in.
//
// Threads, signals, fork: a plain value.
#pragma once

#include <cstdint>

#include "platform/stack.h"

namespace memprof::runtimes {

// What a runtime may ask of native code.
struct NativeCode {
  // Bytes of the function that `address` lies in; 0: unknown.
  uint64_t (*function_bytes)(uint64_t address);
  // Our hooks, whose frames are left out.
  const char* hooks_start;
  const char* hooks_limit;
};

struct NativeStack {
  const uint64_t* frames;
  const uint64_t* stack_pointers;  // unwind::StackPointers
  platform::WalkResult walk;
  bool has_signal_frame;
  uint64_t stack_high;  // end of the thread's stack, as far as it is known
  const NativeCode* code;
};

}  // namespace memprof::runtimes
