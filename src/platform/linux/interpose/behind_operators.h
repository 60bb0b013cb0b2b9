// SPDX-License-Identifier: Apache-2.0
// Where a call of an operator of C++ goes that the loader has bound to ours (docs/decisions/0097).
//
// Model: without us it would go to the next definition of the form in the loader's order, the one behind us:
//
//     behind us                                  our form
//     nobody's                                   is not to be found by the loader: who is bound later is bound
//                                                as without us (a C program, and the libraries that it loads)
//     the standard library's, and nobody         calls malloc or free itself
//       has replaced anything that it calls
//     the allocator's, aligned new               calls its posix_memalign itself
//     the standard library's, the allocator's    goes on to it: what it calls, it finds as without us
//       or anybody's
//
// A form that somebody in front of us defines (the executable, a library preloaded before us) never comes to us;
// but the forms behind us may call it.
//
// Threads: once, before other threads know what is found.
// Allocates: never.
// Failure: where the system lets nobody write to the table of symbols, our forms stay and are malloc and free.
#pragma once

#include "platform/linux/interpose/real.h"

namespace memprof::interpose {

// Fills `found` for a process whose malloc is `real_malloc`.
void find_operators(const void* real_malloc, ForeignOperators* found);

// Takes forms of ours out of the loader's sight, those that have nobody's behind them.  After find_operators().
void hide_operators();

}  // namespace memprof::interpose

namespace memprof::platform {

// Standard operators call malloc, where an allocation is seen: stacks are to begin with who called those.  Defined
// by those who walk stacks (stack/operator_frames.cc), which lie above the hooks.
void leave_out_operators();

}  // namespace memprof::platform
