// SPDX-License-Identifier: Apache-2.0
// The heap of Boehm's collector (libgc), which it maps itself: found in the data of its library, without a name or a
// layout that one of its versions has.
//
// Model: the collector keeps a list of its heap's sections, pairs of where one starts and of its bytes, in its data or
// (since 8.0) behind a pointer there, and the sum of all bytes in a word before it.  A list whose sum stands there, and
// of which each section lies in anonymous memory, is nothing else.
//
// Threads: the process goes on, and nothing that is read is trusted.
// Allocates: never.
// Failure: no sections: a list that was being written just then is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resident/mapping_list.h"
#include "resident/memory_source.h"

namespace memprof::resident {

struct BoehmSection {
  uint64_t start = 0;
  uint64_t bytes = 0;
};

struct BoehmHeap {
  uint64_t list = 0;      // the address of the first BoehmSection
  uint64_t sections = 0;  // 0: none was found
};

// In [start, limit), the library's writable data and what follows it.  `room`: scratch memory of `room_bytes`, aligned
// to 8 bytes; more than it has room for is not looked at.
BoehmHeap find_boehm_heap(const MemorySource& source, MappingList& mappings, uint64_t start, uint64_t limit,
                          void* room, size_t room_bytes);

// What of the collector's heap is in memory, taken out of `mappings`, whose sizes are known; 0: there is no such heap, or a
// runtime that has all mappings of nobody else.
uint64_t take_out_boehm_heap(const MemorySource& source, MappingList& mappings, void* room,
                             size_t room_bytes);

}  // namespace memprof::resident
