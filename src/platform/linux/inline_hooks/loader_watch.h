// SPDX-License-Identifier: Apache-2.0
// Tells when the dynamic loader's list of modules has changed: libraries were mapped, and none of their code has run; or
// some were unmapped.
//
// Model: the loader calls an empty function of its own then, where debuggers put a breakpoint (r_debug::r_brk, link.h).  It
// gets a jump, as hooked functions do.
//
// Threads: to be set up before the program has threads.  The loader's lock is held where `changed` is called.
// Allocates: pages.
#pragma once

namespace memprof::platform {

// false: the loader cannot be watched.
bool watch_loader(void (*changed)());

}  // namespace memprof::platform
