// SPDX-License-Identifier: Apache-2.0
// What a fork child needs: a clock of its own, and no belief that it is its parent, nor that there are other
// threads.
//
// What one thread takes for a while so that others keep off (a flag, a count) belongs into the list in
// a system's platform::reset_in_child: in a child the others are gone, and what they had taken stays
// taken for ever.  What all systems have in that list is in reset_engine_in_child.  What the thread that forks has itself taken (it may be in a dlclose whose library forks)
// is not given back.  The import tables take care of themselves (import_patch.cc).
//
// Signals: the handler runs in the child's only thread, before fork returns there.
// Allocates: never.
#pragma once

#include "platform/process.h"

namespace memprof::platform {

// What make_owner_page has given, which the handler empties where the kernel does not; nullptr: nothing yet.
extern OwnerPage* g_owner_page;

// Gives back what threads of the parent had taken of the engine, once in each child.  `of_system`, if it is not nullptr, is
// called before that, once too: what follows may need it.
void reset_engine_in_child(void (*of_system)());

// Registers the handler, once, from a constructor (it takes the C library's lock).
void watch_forks();

}  // namespace memprof::platform
