// SPDX-License-Identifier: Apache-2.0
// JavaScript frames among native ones.
//
// Model: V8 says which code each JavaScript frame of the thread runs, leaf first (v8::Isolate::GetStackSample:
// it allocates nothing, and is made for signal handlers).  The native walk goes through V8's machine code, whose
// frames all have frame pointers.  Both are put together from the leaf to the root:
//     a native frame of compiled code returns to the address that V8 says;
//     that of the interpreter has, in two words beside each other below its frame pointer, the bytecode and the
//     offset in it, whose sum is the address that V8 says.
// So neither a name nor a layout of V8's is asked for.  V8's own glue between them (entry and exit, handlers of
// bytecodes) is left out.  JavaScript frames whose place is not found come with the next one that is, or last.
//
// Threads: any.
// Signals: a stack with a signal handler in it stays native: V8's frames may be half made.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/stack.h"
#include "runtime/native_stack.h"
#include "runtime/v8/isolates.h"

namespace memprof::v8 {

struct RunningThread {
  const Engine* engine;  // nullptr: it runs no JavaScript
  void* isolate;
  Isolate* known;  // nullptr: its code is not known yet
};

RunningThread running_thread();

platform::WalkResult merge_frames(const RunningThread& thread, const runtimes::NativeStack& native,
                                  uint64_t* frames, uint32_t max_depth);

// On the main thread: is it time to ask for its code?  In any event of a sampler.
void look_at_thread();
void look_again_in_child();

// V8's own frames stay in the stacks.
void show_glue(bool on);

}  // namespace memprof::v8
