// SPDX-License-Identifier: Apache-2.0
// Pools of CPython's object allocator (pymalloc, 3.10 and later) in anonymous mappings, known by their headers: memprof
// gives a sampled object a block of malloc, so no sample lies in a pool.
//
// Model: a pool has 16 KiB at a multiple of that, blocks of one size, a multiple of 16 up to 512, behind a header of 48
// bytes that says which and how many are in use.  Four of its fields follow from each other: by chance, other memory
// hardly ever has such a header.
//
// Threads: the process goes on, and nothing that is read is trusted.
// Allocates: never.
#pragma once

#include <cstdint>

#include "resident/memory_source.h"

namespace memprof::resident {

inline constexpr uint64_t kPoolBytes = 16384;

struct PoolSums {
  uint64_t resident_bytes = 0;  // of pools
  uint64_t free_bytes = 0;      // in them, without what was never touched
  bool is_cut = false;          // the time was over before the end
};

// Of the pools in [start, limit), until so much of the time is over.
PoolSums read_pools(const MemorySource& source, uint64_t start, uint64_t limit, unsigned until_percent = 100);

// What an allocator other than glibc's gives for `size_bytes`: jemalloc and mimalloc have four classes from a power of
// two to the next one, CPython's has each multiple of 16 to 512.
inline uint64_t class_bytes(uint64_t size_bytes) {
  uint64_t step = 16;
  for (uint64_t size = size_bytes == 0 ? 1 : size_bytes; step < size / 8; step *= 2) {
  }
  return size_bytes == 0 ? 16 : (size_bytes + step - 1) / step * step;
}

}  // namespace memprof::resident
