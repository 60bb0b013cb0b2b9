// SPDX-License-Identifier: Apache-2.0
// Does the calling thread run Python, and can its frames be read?
//
// Model: an interpreter's layout is known by its version, and believed when it was right on a stack of this
// process: while it is kUnchecked, every sampled stack is looked at with care (settle); from the first that
// shows it right on, frames are read as they stand.  An interpreter that fails so three times, or is of an
// unknown version, gives native stacks.
//     A thread state that is attached stays while the thread is in a hook.  One that is not (the thread gave
// up the GIL) is freed by the interpreter's end under the feet of a daemon thread, and its memory may be
// anything then.  So it is read through the system, and what was read counts only if the interpreter was not
// ending before and is not afterwards.
//
// Threads: any.
// Signals: safe.
// Allocates: never.
#pragma once

#include <cstdint>

#include "format/runtime_state.h"
#include "runtime/cpython/layout.h"

namespace memprof::cpython {

using StackState = RuntimeStacks;
StackState stack_state();

struct RunningThread {
  const Interpreter* interpreter;  // nullptr: no Python frames
  const Layout* layout;
  uint64_t state;  // PyThreadState
  bool is_checked;
  // The interpreter's instructions are functions that jump to each other: one of them stands above the loop.
  bool has_tail_calls;
  bool is_attached = true;  // false: `state` and its frames may go at any moment
};
RunningThread running_thread();

// After frames of it were read: may they have been those of a thread state that was freed?
bool may_be_gone(const RunningThread& thread);

// In a fork child: nobody is filling the layout.
void reset_stacks_in_child();

// What a look at an unchecked stack showed: its frames were as expected; they were not.
void settle(bool is_good, bool has_tail_calls);

// Whether the evaluation loop's native frame stays with the Python frames.  Off at first.
void show_evaluation_loop(bool on);
bool shows_evaluation_loop();

}  // namespace memprof::cpython
