// SPDX-License-Identifier: Apache-2.0
// How glibc's malloc lays out its chunks, and the state of an arena with the lists of free ones.
//
// Allocates: never.
#pragma once

#include <cstdint>

#include "resident/memory_source.h"

namespace memprof::resident {

inline constexpr uint64_t kBins = 127;
inline constexpr uint64_t kWord = sizeof(uint64_t);
inline constexpr uint64_t kBinWords = 2 * kBins;
inline constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 40;
inline constexpr uint64_t kPage = 4096;  // no system's are smaller
inline constexpr uint64_t kSizeFlags = 7;
inline constexpr uint64_t kNextBehind = kBinWords * kWord + 16;

struct Chunk {
  uint64_t size_before;
  uint64_t size;
  uint64_t next;
  uint64_t previous;
  uint64_t bytes() const { return size & ~kSizeFlags; }
};

inline bool is_chunk_size(uint64_t bytes) {
  return bytes >= 32 && bytes % 16 == 0 && bytes < kMaxChunkBytes;
}

// Where the head of list `i` would lie as a chunk.
inline uint64_t head_of(uint64_t bins, uint64_t i) {
  return bins + (2 * i - 2) * kWord;
}

// How many of `count` heads from list `first` on, whose words are given, are of empty lists.
inline uint64_t count_empty(const uint64_t* words, uint64_t bins, uint64_t first, uint64_t count) {
  uint64_t empty = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t head = head_of(bins, first + i);
    empty += words[2 * i] == head && words[2 * i + 1] == head ? 1 : 0;
  }
  return empty;
}

// Behind the lists; in pages what the arena has of the system.  A window that is a few lists off has something else.
struct BehindLists {
  uint64_t next;
  uint64_t next_free;
  uint64_t attached_threads;
  uint64_t system_bytes;
  bool is_state() const {
    return next > kPage && next % kWord == 0 && system_bytes != 0 && system_bytes % kPage == 0 &&
           attached_threads < (1U << 22);
  }
};

inline bool is_state(const MemorySource& source, uint64_t bins) {
  BehindLists state;
  return source.load(bins + kNextBehind, &state) && state.is_state();
}

}  // namespace memprof::resident
