// SPDX-License-Identifier: Apache-2.0
// Where hooks lie: in a section of their own, so that a frame of ours is known by its address, whether we are
// a library of our own or linked into the program.
#pragma once

#include "platform/object_format.h"

#define MEMPROF_HOOK __attribute__((section(MEMPROF_HOOK_SECTION)))

// For every function whose frame is the entry of a stack: reached by a jump from the hook, so that its return
// address is the program's.
#define MEMPROF_SLOW_PATH extern "C" MEMPROF_HOOK __attribute__((noinline, cold, visibility("hidden")))
