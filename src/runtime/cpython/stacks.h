// SPDX-License-Identifier: Apache-2.0
// Does the calling thread run Python, and can its frames be read?
//
// Model: an interpreter's layout is known by its version, and believed when it was right on a stack of this
// process: while it is kUnchecked, every sampled stack is looked at with care (settle); from the first that
// shows it right on, frames are read as they stand.  An interpreter that fails so three times, or is of an
// unknown version, gives native stacks.
//
// Threads: any.
// Signals: safe.
// Allocates: never.
#pragma once

#include <cstdint>

#include "runtime/cpython/layout.h"

namespace memprof::cpython {

// MEMPROF_PYTHON_STACKS_* of memprof.h.
enum class StackState : uint32_t {
  kNone = 0,       // no interpreter was seen
  kUnchecked = 1,  // none of its frames was seen yet
  kGood = 2,
  kUnknownVersion = 3,  // native stacks only
  kUnknownLayout = 4,   // native stacks only
};
StackState stack_state();

struct RunningThread {
  const Interpreter* interpreter;  // nullptr: no Python frames
  const Layout* layout;
  uint64_t state;  // PyThreadState
  bool is_checked;
  // The interpreter's instructions are functions that jump to each other: one of them stands above the loop.
  bool has_tail_calls;
};
RunningThread running_thread();

// What a look at an unchecked stack showed: its frames were as expected; they were not.
void settle(bool is_good, bool has_tail_calls);

// Whether the evaluation loop's native frame stays with the Python frames.  Off at first.
void show_evaluation_loop(bool on);
bool shows_evaluation_loop();

}  // namespace memprof::cpython
