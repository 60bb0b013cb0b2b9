// SPDX-License-Identifier: Apache-2.0
// Blocks that the program's own allocators report (capi/include/memprof.h, "Allocators of one's own").
//
// Model: the bytes of reported blocks lie on the thread's one line with those of malloc
// (core/sampling/sampler.h).  A reported block is not the block of malloc at the same address: a pool's first
// object begins where its chunk begins.  In the live map and for the engine a reported block therefore has
// the highest bit of its address set, which no address of a program has; the filter does not look at it.
//
//     report ── sampler_tick ── (ran out) ── reported::allocated
//     report ── g_sampled_filter ── (marked) ── reported::freed
//
// Threads: any.
// Signals: a handler may report while its thread is in the middle of reporting.
// fork: a child records nothing.
// Allocates: never.
// Failure: as in core/engine/profiler.h; what is reported wrongly (a free of what is not there, an unknown
// heap) is ignored or taken for a block without a heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tables/heap_map.h"
#include "platform/stack.h"

namespace memprof::reported {

// Whose a block is: an allocator's of its own; or malloc's, which was given by another function of that allocator (jemalloc's
// mallocx) and may go by `free`.
enum class Of : uint8_t { kAllocator, kMalloc };

// As the engine and the live map know it.
inline const void* key(const void* block, Of of = Of::kAllocator) {
  return of == Of::kMalloc ? block : reinterpret_cast<const void*>(reinterpret_cast<uint64_t>(block) | kBit);
}

// After sampler_tick(size_bytes) returned true.  nullptr: the allocation failed; it is an event without a
// sample.
void allocated(const void* block, uint64_t size_bytes, uint32_t heap, const platform::Entry& entry,
               Of of = Of::kAllocator);

// The filter marks the block.
void freed(const void* block, Of of = Of::kAllocator);

// Every block that begins in [start, start + size_bytes).
void freed_range(const void* start, uint64_t size_bytes);

// Names what is recorded of a block that may be reallocated; 0: nothing.
uint64_t begin_reallocation(const void* block, Of of = Of::kAllocator);
// That block is gone, and `block` is there instead; nullptr and a size: it failed, and all is as it was.
// `ran_out` is what sampler_tick(size_bytes) returned.
void reallocated(uint64_t token, const void* old_block, const void* block, uint64_t size_bytes, uint32_t heap,
                 bool ran_out, const platform::Entry& entry, Of of = Of::kAllocator);

// A block of malloc is from now on what reported blocks are made of.
void backing(const void* chunk);

}  // namespace memprof::reported
