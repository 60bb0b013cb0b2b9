// SPDX-License-Identifier: Apache-2.0
// What hooked functions of allocators inside modules do when they do more than count (hook_site.h): they record what the
// program's call gave it, as blocks of the allocator's heap.
//
// Threads, signals: as the functions that they stand for.  errno: kept as the original left it.
// Allocates: never.
#pragma once

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

// The gate (register_gate.h) that leads to them, for stubs; 0: this processor has registers that it cannot save.
uint64_t slow_paths();

// Calls to hooked allocators that came to these paths on this thread while it was trying one.
uint32_t calls_while_trying();

// The thread is trying this allocator; nullptr: none.
void set_trying(const InnerHeap* heap);

}  // namespace memprof::platform
