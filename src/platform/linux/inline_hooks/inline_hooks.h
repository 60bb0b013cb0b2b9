// SPDX-License-Identifier: Apache-2.0
// Allocators that programs and libraries have inside them, hooked where their own functions begin (docs/decisions/0076).
//
// Model: hook_inner_allocators() (interpose/loader_calls.h) hooks what is loaded at the start, before the program has
// threads.  The dynamic loader calls a function of its own, for debuggers, whenever its list of modules has changed and is
// consistent; that is hooked, too, and libraries that are loaded later are hooked when they are mapped and none of their
// code has run.
//     module_symbols ── allocator_functions ── inner_module ── relocation, stubs ── (first call) ── verification
//
// Threads: the start is alone; later the loader's lock is held.
// fork: a child has its parent's.
// Allocates: pages.
// Failure: what is not hooked stays as it is; inner_allocators_note() says why.
#pragma once

#include "platform/linux/interpose/loader_calls.h"  // hook_inner_allocators
