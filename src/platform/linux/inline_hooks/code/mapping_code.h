// SPDX-License-Identifier: Apache-2.0
// What an allocator inside a module maps is its memory, and no mapping of the program's (core/mappings/mappings.h): what is
// mapped while one of its functions runs, hooked or not.
//
// Threads: any.
// Allocates: never.
#pragma once

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

// From here on.
void note_mapping_code(const InnerHeap& heap);
// Until here: its blocks are not seen, or its module is gone.
void forget_mapping_code(const InnerHeap& heap);

}  // namespace memprof::platform
