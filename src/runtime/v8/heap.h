// SPDX-License-Identifier: Apache-2.0
// JavaScript's own heap: V8's sampler, started by us, and what it found, told to the engine by function (decision 0091).
//
// Model: V8 may be asked where it is about to call JavaScript (v8/isolates.h) and where Node tells that the program ends.
// The sampler of an isolate begins at the first such call of its thread in which Node has its environment.  What it has found
// is told now and then: after a kill, and to readers from outside, that is what there is.  The main thread's is told at the
// end, too, while the objects are still there.  That of a worker is there until the worker ends.
// V8 collects no garbage for it: what nobody refers to any more counts until it does.
//
// Threads: each asks its own isolate; one at a time tells.
// Signals: never in a handler.
// fork: a child tells nothing.
// Allocates: pages for the tree; V8 what it answers with, on its heap and by malloc, muted.
// Failure: an engine without these functions, a program without Node, or that was started to sample its heap itself or to
// build a snapshot of it (v8/heap_options.h), a filter of system calls: nothing is told.
#pragma once

#include <cstdint>

#include "platform/object_format.h"
#include "runtime/v8/engine.h"

namespace memprof::v8 {

// Before the engine is attached to; true unless MEMPROF_NODE says otherwise.
void sample_heap(bool on);
// From now on, whatever sample_heap() says.
void leave_heap_alone();

// Whether look_at_heap() has something to do at a call of the thread: a load and a comparison.
extern __thread uint32_t t_heap_calls MEMPROF_TLS_MODEL __attribute__((visibility("hidden")));
inline bool is_heap_due() {
  return __builtin_expect(t_heap_calls != 0, 0) && --t_heap_calls == 0;
}

// The calling thread runs JavaScript in this isolate from now on.
void begin_heap(const Engine& engine);
// In a call of V8's that may use all of it.
void look_at_heap(const Engine& engine, void* isolate);

void reset_heap_in_child();

}  // namespace memprof::v8
