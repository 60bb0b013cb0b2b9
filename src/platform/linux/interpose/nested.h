// SPDX-License-Identifier: Apache-2.0
// Allocators whose functions call each other by their public names.
//
// Model: calloc of such an allocator (musl's, for one) calls malloc, which is our hook: the clock would
// advance twice for one block.  Each real function is tried once, when it has just been found; one that comes
// back to a hook is put behind a function that mutes the thread meanwhile.  The others stay as they are, and
// cost nothing.
#pragma once

namespace memprof::interpose {

// After the table is published; by the thread that filled it, muted.
void mute_nested_calls();

}  // namespace memprof::interpose
