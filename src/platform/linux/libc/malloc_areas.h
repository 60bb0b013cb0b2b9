// SPDX-License-Identifier: Apache-2.0
// Memory that glibc's malloc took from the system by itself, known by the marks that it leaves there: arenas, which
// begin at multiples of their largest size, and blocks that have a mapping of their own.  Other C libraries leave
// none that are known.
//
// Threads, signals: any.  Memory may go away meanwhile.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::platform {

// Where the piece of malloc ends that begins at `start`; 0: none begins there.
uint64_t end_of_malloc_area(uint64_t start);

}  // namespace memprof::platform
