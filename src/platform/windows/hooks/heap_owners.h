// SPDX-License-Identifier: Apache-2.0
// Which heap the sampled blocks of a piece of memory are of, so that those of a heap that is destroyed as a whole are found
// without walking it.
//
// Model: Windows gives out addresses in pieces of 64 KiB, so a piece is one heap's at a time; a table says whose it is, as the
// last sampled block in it has it.  A heap that was made in memory of its caller's shares pieces with others, whose samples
// are then taken for freed with it.
//
// Threads: any; a piece's entry changes by the heap that has it, and two threads that enter the same piece enter the same heap.
// Allocates: never; it takes 32 MiB of addresses, of which pages get memory when they are used.
// Failure: where the table is full, blocks of further pieces stay live when their heap is destroyed.
#pragma once

#include <cstdint>

namespace memprof::platform {

// Before heaps are hooked.  false: no memory.
bool make_heap_owners();

// A sampled block of `heap` lies at `block`.  Before its record exists.
void note_heap_of(const void* block, const void* heap);

// Takes out the records of all sampled blocks of `heap`.  Before it is destroyed.
void free_all_of(const void* heap);

}  // namespace memprof::platform
