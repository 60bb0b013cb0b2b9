// SPDX-License-Identifier: Apache-2.0
// Points the imports of the loaded modules at the hooks, in a process whose malloc is not interposed
// (docs/decisions/0014).
//
// Model: the hooks forward to the first module in the loader's order that defines malloc.  Every slot that holds
// that very function gets the hook; a lazy slot that is not bound yet, if it would be bound to it.  Every other slot
// stays.  So each call ends where it ended before, and a block always meets the free of its own allocator.
//     C library or an allocator that is a library of its own:   patched
//     allocator inside the executable (it exports malloc):      nothing is patched; it calls itself directly
//
// New libraries are looked for when the program is about to call the loader (interpose/loader_calls.h), when
// recording; only those that were not seen before are read.  Of a module nothing is kept but the mark that it
// was seen, and that until something is unloaded.  Modules are read and written in the loader's callback:
// nobody can unload them meanwhile.
//
// Threads: one pass at a time; who comes to look for new libraries meanwhile goes on.
// fork: not in a child; a fork waits for a pass to end, because the child would inherit the loader's lock.
// Signals: never from a hook of malloc.
// Allocates: pages of its own.
// Failure: slots that cannot be written are counted and keep what they hold.
#pragma once

#include "platform/linux/interpose/loader_calls.h"  // patch_new_imports
