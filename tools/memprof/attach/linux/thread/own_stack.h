// SPDX-License-Identifier: Apache-2.0
// What is free on the stack of a thread that the C library made.
//
// Model: such a stack lies above a guard, in one mapping with what the thread pointer points at, at its top.  Where the stack pointer is
// between them the thread runs on it, and nobody else uses what is below.  That is not so for coroutines, signal stacks and stacks
// that the program brings itself: of those nothing is known to be free.
//
// Threads: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "memprof/attach/linux/processor/processor.h"
#include "memprof/attach/linux/target/target_memory.h"

namespace memprof::cli {

// Below the stack pointer a function may write so far without moving it (x86-64; aarch64 has none).
constexpr uint64_t kRedZoneBytes = 128;

struct OwnStack {
  uint64_t begin = 0, end = 0;  // in whole pages; end is below the red zone
  uint64_t bytes() const { return end - begin; }
};

// Enough for calls (RemoteCall).
constexpr uint64_t kStackForCalls = uint64_t{512} << 10;

// Of a stopped thread; no bytes: not known.
OwnStack own_stack(const std::vector<MemoryRange>& ranges, uint64_t stack_pointer, uint64_t thread_pointer);

// Whether the C library made it: its robust list lies in what it has for each of its threads.
bool is_of_c_library(pid_t thread);

}  // namespace memprof::cli
