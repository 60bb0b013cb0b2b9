// SPDX-License-Identifier: Apache-2.0
// Memory within the reach of a jump from a module's code.
//
// Threads: any.  Allocates: pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// Zeroed pages, readable and writable, so that what lies in [low, high) and what lies in them are less than 2 GiB apart.
// nullptr: there is no such place.  To be given back by unmap_own.
void* map_near(uint64_t low, uint64_t high, size_t size_bytes);

}  // namespace memprof::platform
