// SPDX-License-Identifier: Apache-2.0
// The profiler's own mappings, made by system calls and not by the C library's functions: those are hooked, and what
// comes through the hooks is the program's.  Each is noted, so that what memprof holds is told from what the program
// does.
//
// Threads, signals: any; lock-free.
// fork: a child has its parent's mappings, and its notes.
// Allocates: never.
// Failure: as mmap and munmap, with errno; a note that finds no room is left out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

void* map_own(void* place, size_t size_bytes, int protection, int flags, int file, off_t offset);
int unmap_own(void* start, size_t size_bytes);
// A piece of it grew to `new_bytes`.
void note_own(const void* start, size_t new_bytes);

// Does `start` lie in one?  *limit, where it is wanted: where that ends.
bool is_own(uint64_t start, uint64_t* limit = nullptr);
// Where the first one begins behind `start`; `limit`: none before that.
uint64_t next_own(uint64_t start, uint64_t limit);

}  // namespace memprof::platform
