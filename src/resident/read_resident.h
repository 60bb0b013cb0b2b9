// SPDX-License-Identifier: Apache-2.0
// What a process has in memory, divided into parts (format/resident.h), from its map, its sampled blocks, and the
// lists of its allocator.
//
// The sizes of mappings come first, for most of the answer is theirs; then as many blocks as there is time for.
//
// Model: each mapping has a kind by its name and neighbours.  Anonymous ones with a sampled block are an allocator's:
// whole, but where all its blocks are chunks that glibc mapped for themselves; then as much of it as these stand for.
// What blocks have in memory and what they take beyond their size is asked of the sampled blocks, and each stands for
// others as in every estimate.
//
// Threads: one's own; the process goes on.
// Allocates: never; scratch memory is the caller's.
// Failure: no total: `total_bytes` stays 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/resident.h"
#include "resident/blocks/block_choice.h"
#include "resident/memory_source.h"

namespace memprof::resident {

// What the system counts for the process as a whole.
struct Totals {
  uint64_t resident_bytes = 0;
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t swap_bytes = 0;
};

// Memory that memprof has taken to look at this process.
struct OwnPages {
  uint64_t start = 0;
  uint64_t limit = 0;
};

inline constexpr size_t kMaxMappings = 65536;  // what Linux lets a process have, by default
size_t scratch_bytes();

// `scratch`: scratch_bytes() of zeros, aligned to 16.
ResidentMemory read_resident(const MemorySource& source, const Totals& totals, const BlockList& blocks,
                             void* scratch, const OwnPages* own = nullptr, size_t own_count = 0);

}  // namespace memprof::resident
