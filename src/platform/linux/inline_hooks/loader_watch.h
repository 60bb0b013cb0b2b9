// SPDX-License-Identifier: Apache-2.0
// Tells when the dynamic loader's list of modules has changed: libraries were mapped, and none of their code has run; or
// some were unmapped.
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

// false: the loader cannot be watched.
bool watch_loader(void (*changed)());

// What is to be written so that it is watched; how many patches, 0: it is already, or cannot be.
uint32_t prepare_loader_watch(void (*changed)(), LatePatch (&patches)[2]);

}  // namespace memprof::platform
