// SPDX-License-Identifier: Apache-2.0
// Tells when the dynamic loader's list of modules has changed: libraries were mapped, and none of their code has run but
// resolvers of functions (glibc 2.41 relocates them before it tells, older ones do that later); or some were unmapped.
//
// Model: the loader calls an empty function of its own then, where debuggers put a breakpoint (r_debug::r_brk, link.h).  It
// gets a jump, as hooked functions do.
//
// In a process whose threads run a tracer writes the jump.
//
// Threads: watch_loader() before the program has threads; prepare_loader_watch() one at a time.  The loader's lock is held
//   where `changed` is called.
// Allocates: pages.
#pragma once

#include <cstdint>

#include "format/allocators/late_patches.h"

namespace memprof::platform {

enum class LoaderChange : unsigned char {
  kBegins,  // libraries will be mapped; the first of them may be, but is not relocated
  kIsDone,
};

// false: the loader cannot be watched.
bool watch_loader(void (*changed)(LoaderChange));

// What is to be written so that it is watched; how many patches, 0: it is already, or cannot be.
uint32_t prepare_loader_watch(void (*changed)(LoaderChange), LatePatch (&patches)[2]);

}  // namespace memprof::platform
