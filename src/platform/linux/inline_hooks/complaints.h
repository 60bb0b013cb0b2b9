// SPDX-License-Identifier: Apache-2.0
// Says which allocators inside modules are not seen, or not all of their functions, and why: on standard error, or to
// who listens.
//
// Threads: any.
// Allocates: never.
#pragma once

#include "platform/linux/inline_hooks/inner_module.h"

namespace memprof::platform {

// Lines go to `listener` from now on, as parts (platform/messages.h).
void set_complaint_listener(void (*listener)(const char* const* parts));

// A line for each of the module's allocators that are refused, and for each of their functions that is.
void complain_of(const InnerModule& module);
void complain_of(const InnerHeap& heap);
// A line for each function of an allocator that is seen which was tried and is left as it is.
void complain_of_left_out(const InnerHeap& heap);

}  // namespace memprof::platform
