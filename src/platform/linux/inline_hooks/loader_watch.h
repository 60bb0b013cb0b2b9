// SPDX-License-Identifier: Apache-2.0
// Tells when the dynamic loader's list of modules has changed: libraries were mapped, and none of their code has run; or
// some were unmapped.
//
// Model: the loader calls an empty function of its own then, where debuggers put a breakpoint (r_debug::r_brk, link.h).  It
// gets a jump, as hooked functions do.
//
// In a process whose threads run a tracer writes the jump.  What was loaded between the preparation and the jump has run;
// so the watch takes as new only what comes between two calls of the loader that it has seen: before a change, and after it.
//
// Threads: watch_loader() before the program has threads; prepare_loader_watch() one at a time.  The loader's lock is held
//   where the functions of LoaderEvents are called.
// Allocates: pages.
#pragma once

#include <cstdint>

#include "format/late_patches.h"

namespace memprof::platform {

struct LoaderEvents {
  void (*begins)();                 // modules are about to be mapped or unmapped
  void (*changed)(bool is_unused);  // they were; is_unused: nobody has run the code of those that are new
};

// false: the loader cannot be watched.
bool watch_loader(const LoaderEvents& events);

// What is to be written so that it is watched; how many patches, 0: it is already, or cannot be.
uint32_t prepare_loader_watch(const LoaderEvents& events, LatePatch (&patches)[2]);

}  // namespace memprof::platform
