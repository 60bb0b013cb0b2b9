// SPDX-License-Identifier: Apache-2.0
// find_main_arena() of glibc_heap.h.
#include "resident/glibc_heap.h"
#include "resident/glibc_layout.h"

namespace memprof::resident {
namespace {

// Of the lists, which are empty, or whose first chunk points back.
constexpr uint64_t kMinLists = 64;
constexpr uint64_t kMaxLinkLooks = 4;  // windows of which chunks are read

bool is_empty(const uint64_t* words, uint64_t bins, uint64_t i) {
  return count_empty(words + 2 * i, bins, i, 1) == 1;
}

// Of lists that are not empty: how many have a first chunk that points back.  What frees much at its end fills nine of ten.
uint64_t count_linked(const MemorySource& source, const uint64_t* words, uint64_t bins, uint64_t wanted) {
  uint64_t linked = 0;
  for (uint64_t i = 0; i < kBins && linked < wanted; ++i) {
    const uint64_t head = head_of(bins, i);
    const uint64_t first = words[2 * i];
    Chunk chunk;
    linked += first != head && first > kPage && first % 16 == 0 && source.load(first, &chunk) &&
                      chunk.previous == head && is_chunk_size(chunk.bytes())
                  ? 1
                  : 0;
  }
  return linked;
}

}  // namespace

bool find_main_arena(const MemorySource& source, uint64_t start, uint64_t limit, void* room, uint64_t* bins) {
  const uint64_t size = limit - start < kGlibcScratchBytes ? limit - start : kGlibcScratchBytes;
  if (start >= limit || start % kWord != 0 || !source.read(source.context, start, room, size)) {
    return false;
  }
  const auto* const words = static_cast<const uint64_t*>(room);
  uint64_t looks = 0;
  for (uint64_t i = 0; i + kBinWords <= size / kWord; ++i) {
    // The last list is nearly always empty; any of a few is.
    const uint64_t at = start + i * kWord;
    const bool may_be = is_empty(words + i, at, 126) || is_empty(words + i, at, 125) ||
                        is_empty(words + i, at, 60) || is_empty(words + i, at, 40);
    // Of the windows that are a few lists off there are dozens: no call for each.
    const uint64_t behind = i + kNextBehind / kWord;
    const bool is_here = behind + sizeof(BehindLists) / kWord <= size / kWord;
    if (is_here ? !reinterpret_cast<const BehindLists*>(words + behind)->is_state()
                : !may_be || !is_state(source, at)) {
      continue;
    }
    const uint64_t empty = count_empty(words + i, at, 0, kBins);
    const bool is_looked_at = empty < kMinLists && empty != 0 && looks < kMaxLinkLooks;
    looks += is_looked_at ? 1 : 0;
    if (empty + (is_looked_at ? count_linked(source, words + i, at, kMinLists - empty) : 0) >= kMinLists) {
      *bins = at;
      return true;
    }
  }
  return false;
}

}  // namespace memprof::resident
