// SPDX-License-Identifier: Apache-2.0
// Which memory around the stack pointer may be read.
//
// Model: a thread's own stack ends at a known place: the main thread's where the C library says,
// another's below its thread-local storage, which the C library puts on top of the stack.  That what lies
// between is one readable piece is asked of the kernel once (a system call that fails on unreadable memory,
// 0.2 us a page) and remembered in thread-local storage.  A stack pointer elsewhere (a coroutine, a signal
// stack) is on a foreign stack: the pages above it are asked for each time, because that memory can go away.
// Remembered, by all threads together, is only that a page between a foreign stack and the thread's own cannot be
// read (it may take thousands of questions to find it): where that is not so any more, pages are asked for too often.
//
// Threads: thread-local state; what is known of foreign stacks is a table of single words, relaxed.
// Signals: a handler may interrupt the update of the remembered bounds; they
// only ever describe memory that was found readable.
// Allocates: never.
#pragma once

#include "unwind/tables/stack_memory.h"

namespace memprof::platform {

unwind::StackBounds stack_bounds(uint64_t stack_pointer);

// Bytes below a stack pointer of the calling thread, if it is on the thread's signal stack; UINT64_MAX: it is
// not, or that is not known.  One system call, where the stack is not the thread's own.
uint64_t stack_left(uint64_t stack_pointer);

// Can the 8 bytes at `address` be read?  One system call.
bool is_readable(uint64_t address);

}  // namespace memprof::platform
