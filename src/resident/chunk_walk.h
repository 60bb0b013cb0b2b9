// SPDX-License-Identifier: Apache-2.0
// Free memory in a heap of glibc's malloc, found by going from chunk to chunk: each page is read once, 64 KiB at a time.
// The allocator's lists have the same chunks, but in no order, so that each one is a read of its own.
//
// Model: chunks lie one behind the other; the size of a free one also stands behind it, where the next one says that it
// is free.  What lies in caches and in fast lists counts as used here.
//
// Threads: the process goes on; what is read may be off by what it does meanwhile, and is never trusted.
// Allocates: never; the window is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resident/memory_source.h"

namespace memprof::resident {

class ChunkWalk {
 public:
  static constexpr size_t kWindowBytes = 64 * 1024;

  // `window`: kWindowBytes, aligned to 8 bytes.
  ChunkWalk(const MemorySource& source, void* window)
      : source_(source), window_(static_cast<char*>(window)) {}
  ChunkWalk(const ChunkWalk&) = delete;
  ChunkWalk& operator=(const ChunkWalk&) = delete;

  // Goes from the chunk `first` to the one that begins at `end`; returns where it ended: there, where there is no
  // chunk, or where the time was over.
  uint64_t walk(uint64_t first, uint64_t end);

  // Whether the first chunk of a heap that ends at `limit` may begin there.
  bool may_be_first(uint64_t at, uint64_t limit);

  bool is_cut() const { return is_cut_; }
  uint64_t free_bytes() const { return free_bytes_; }
  uint64_t free_resident_bytes() const { return free_resident_bytes_; }
  // A chunk that is known to be free.
  void add(uint64_t chunk, uint64_t bytes);

 private:
  struct Header {
    uint64_t bytes_before;
    uint64_t size;
  };

  bool is_chunk(uint64_t at, uint64_t limit, Header* header, uint64_t* bytes);
  bool load(uint64_t at, uint64_t limit, Header* header);
  bool is_in_memory(uint64_t start, uint64_t limit);

  const MemorySource& source_;
  char* const window_;
  uint64_t window_start_ = 0;
  uint64_t window_limit_ = 0;
  uint64_t piece_ = ~uint64_t{0};  // the last one that was asked for
  bool is_piece_whole_ = false;    // all of it is in memory
  uint64_t chunks_ = 0;
  bool is_cut_ = false;
  uint64_t free_bytes_ = 0;
  uint64_t free_resident_bytes_ = 0;
};

}  // namespace memprof::resident
