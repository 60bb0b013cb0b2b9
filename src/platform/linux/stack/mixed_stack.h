// SPDX-License-Identifier: Apache-2.0
// Python frames among native ones: each run of Python frames stands where the evaluation loop that executes
// it stands in the native stack; the loop's own frame is left out.
//
// Model: by address.  What the loop keeps on the C stack (runtime/cpython/runs.h) lies in the memory of one
// native frame.  So no name is asked for, and a stripped interpreter is as good as another.
//     native            Python           together
//     malloc's caller                    malloc's caller
//     list_append                        list_append
//     [loop]      <---  f, g             f, g
//     vectorcall                         vectorcall
//     [loop]      <---  main             main
//     _start                             _start
// Frames of our own hooks are left out.  Runs whose place is not found, because the native walk ended before,
// come after all native frames.
//
// Threads: any.
// Signals: safe; after a signal frame, and where the thread state is not attached, every read of the
// interpreter is checked.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/stack.h"
#include "runtime/cpython/stacks.h"

namespace memprof::platform {

struct NativeStack {
  const uint64_t* frames;
  const uint64_t* stack_pointers;  // unwind::StackPointers
  WalkResult walk;
  bool has_signal_frame;
  uint64_t stack_high;  // end of the thread's stack, as far as it is known
};

// Writes the frames of both, leaf first.
WalkResult merge_python(cpython::RunningThread thread, const NativeStack& native, uint64_t* frames,
                        uint32_t max_depth);

}  // namespace memprof::platform
