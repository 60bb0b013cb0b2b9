// SPDX-License-Identifier: Apache-2.0
// A region that serves allocations while the real functions are not known yet (see real.h).
//
// Threads: any number, lock-free.
// Allocates: from static memory.
// Failure: nullptr and ENOMEM when it is used up.
//
// What it gave is zeroed, never reused, and marked in the filter for ever.
#pragma once

#include <stddef.h>

namespace memprof::interpose {

// `alignment` is a power of two.
void* bootstrap_allocate(size_t size_bytes, size_t alignment);
bool is_bootstrap(const void* block);
size_t bootstrap_size(const void* block);

}  // namespace memprof::interpose
