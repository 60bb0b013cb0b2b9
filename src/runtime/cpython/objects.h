// SPDX-License-Identifier: Apache-2.0
// Python's objects: puts hooks in front of the interpreter's allocators, and keeps them there
// (docs/decisions/0015).
//
// Model: attach_objects() asks the interpreter which allocators it has and installs what fits
// (object_hooks.h).  Python replaces allocators by itself: an initialization with PYTHONMALLOC, -X dev or a
// PyPreConfig does, and (3.12 on) a second Py_Initialize.  So where the tables of allocators lie is found out
// by looking for the hooks in the interpreter's data after they were installed; look_at_objects(), called by
// every sampling event of any thread, reads one word of each table, and what was replaced gets hooks again by
// plain stores of a thread that nobody can be writing beside: the one that has the GIL, or before there is
// one the one that attached.  Until Python is initialized, the first allocations of the process are all
// events.
//
//     what is found in a table              what is done
//     hooks                                 nothing
//     functions that hooks go on to         the same hooks again
//     malloc's                              nothing: seen there
//     a wrapper whose context has hooks     nothing: it calls them (tracemalloc, debug allocators)
//     other                                 careful hooks in front of it
//
// Threads: one at a time changes anything; others go on.
// Signals: look_at_objects() may interrupt itself.  fork: a child has what its parent had; where another
// thread was just changing a table, it looks again.
// Allocates: never.
// Failure: no hooks; object_state() says why.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/runtime_state.h"
#include "runtime/cpython/interpreter.h"

namespace memprof::cpython {

using ObjectState = RuntimeObjects;

// Installs what is missing.
void attach_objects(const Interpreter& python);

// In a sampling event: have allocators been replaced?
void look_at_objects();

// Something was unloaded (core/engine/runtimes.h); in between nothing is looked at, because interpreter() is
// nullptr.
void check_objects();

// In a fork child: nobody is changing a table.
void reset_objects_in_child();

ObjectState object_state();

}  // namespace memprof::cpython
