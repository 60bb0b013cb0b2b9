// SPDX-License-Identifier: Apache-2.0
// Finds out by use whether the functions of an allocator are what their names say, and how each is to be hooked.
//
// Model: the first call that the program makes itself, when the allocator is as ready as the program needs it, gives a
// block.  Is that no memory of the size asked for, nothing more is called.  Else each function that gives memory is called
// with several sizes: address, alignment, the whole block written, its usable size; then it is freed.  What comes to
// another hook meanwhile shows which functions call each other:
//     to malloc's hooks, all of them       its blocks are seen as malloc's: left alone
//     to another function of the allocator  counted at the outer one, the inner ones muted meanwhile
//     to nobody                             the fast path
//
// Threads: any; one of them tries, the others go on unseen meanwhile.
// Allocates: from the allocator that is tried.
// Failure: InnerState::kRefused and a reason; all functions of the allocator do what they did without hooks.
#pragma once

#include <cstdint>

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

// `block`: what the first call, of `site`, gave for `size_bytes`.  true: this call has found that the allocator is one.
bool try_allocator(const HookSite* site, const void* block, uint64_t size_bytes);

}  // namespace memprof::platform
