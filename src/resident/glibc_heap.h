// SPDX-License-Identifier: Apache-2.0
// Free memory that glibc's malloc keeps, read from its heaps without a lock and without calling it: in a process that
// goes on, in a signal handler, or from outside.
//
// Model: the state of the main arena lies in the data of libc.so, and nothing exports it.  It has 127 lists, each
// with a head of two pointers: to the head itself while the list is empty, else to chunks that point back.  Such a run of
// words is nothing else.  Where one arena is, its pointer to the next one leads to all of them.  Free chunks are found by
// going through the heaps (chunk_walk.h); where a heap has something else between its chunks, by the lists.  These are
// doubly linked; a link that does not point back ends the walk of a list, because somebody is changing it.
//
// Threads: the process goes on; what is read may be off by what it does meanwhile, and is never trusted.
// Allocates: never.
// Failure: no arena is found: is_known is false.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resident/memory_source.h"

namespace memprof::resident {

struct GlibcFree {
  bool is_known = false;
  bool is_cut = false;      // the walk ended before the lists did
  uint64_t free_bytes = 0;  // of chunks in lists and at the top of arenas, and of one cache of each arena
  uint64_t free_resident_bytes = 0;
  uint64_t arenas = 0;
};

// [start, limit): writable data of libc, where the main arena is looked for.  `break_start`: where the break begins; 0:
// there is none.  `room` is scratch memory of kGlibcScratchBytes.
inline constexpr size_t kGlibcScratchBytes = 64 * 1024;
bool find_main_arena(const MemorySource& source, uint64_t start, uint64_t limit, void* room, uint64_t* bins);
// `window`: scratch memory of kGlibcWindowBytes; nullptr: by the lists alone.
inline constexpr size_t kGlibcWindowBytes = 64 * 1024;
GlibcFree read_glibc_free(const MemorySource& source, uint64_t main_bins, uint64_t break_start,
                          void* window = nullptr);

// What a chunk takes in all, read from its header, where `address` can be a block of glibc's of `size_bytes`; 0: it
// cannot.  *is_mapped: the chunk is a mapping of its own.
uint64_t glibc_chunk_bytes(const MemorySource& source, uint64_t address, uint64_t size_bytes,
                           bool* is_mapped);

// Whether [start, limit) begins with the header of a heap of an arena that is not the main one.
bool is_glibc_heap(const MemorySource& source, uint64_t start, uint64_t limit);

}  // namespace memprof::resident
