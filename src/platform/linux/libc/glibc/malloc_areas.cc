// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/libc/malloc_areas.h"

#include "platform/memory.h"
#include "platform/memory_areas.h"

namespace memprof::platform {
namespace {

// What a heap of an arena begins with of glibc.
struct HeapInfo {
  uint64_t arena;
  uint64_t previous;
  uint64_t size_bytes;
  uint64_t accessible_bytes;
};
constexpr uint64_t kHeapBytes = uint64_t{64} << 20;

// What a block begins with: the size, and flags in its lowest three bits.
struct Chunk {
  uint64_t previous_bytes;
  uint64_t size_and_flags;
};
constexpr uint64_t kFlags = 7;
constexpr uint64_t kIsMapped = 2;
constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 40;

bool is_heap(uint64_t start, const HeapInfo& info) {
  const uint64_t page = page_bytes();
  const uint64_t arena_heap = info.arena & ~(kHeapBytes - 1);
  return info.size_bytes != 0 && info.size_bytes <= kHeapBytes && info.accessible_bytes >= info.size_bytes &&
         info.accessible_bytes <= kHeapBytes && info.accessible_bytes % page == 0 &&
         (info.previous == 0 ? arena_heap == start
                             : info.previous % kHeapBytes == 0 && info.previous != start);
}

}  // namespace

uint64_t end_of_malloc_area(uint64_t start) {
  const uint64_t page = page_bytes();
  if (start % kHeapBytes == 0) {
    HeapInfo info;
    if (read_memory(start, &info, sizeof(info)) && is_heap(start, info)) {
      return start + info.accessible_bytes;
    }
  }
  Chunk chunk;
  if (!read_memory(start, &chunk, sizeof(chunk))) {
    return 0;
  }
  const uint64_t size = chunk.size_and_flags & ~kFlags;
  const bool is_mapped = (chunk.size_and_flags & kFlags) == kIsMapped && chunk.previous_bytes == 0 &&
                         size >= page && size % page == 0 && size <= kMaxBlockBytes;
  return is_mapped ? start + size : 0;
}

}  // namespace memprof::platform
