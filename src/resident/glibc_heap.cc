// SPDX-License-Identifier: Apache-2.0
#include "resident/glibc_heap.h"

#include <cstring>

#include "resident/chunk_walk.h"
#include "resident/glibc_layout.h"

namespace memprof::resident {
namespace {

constexpr uint64_t kMinEmptyOther = 2;  // where an arena is already expected; a program can fill nearly all
constexpr uint64_t kMaxArenas = 1024;
constexpr uint64_t kMaxHeaps = 1 << 16;
// Chunks in lists that cost about as much as reading 64 KiB of the heap: each is a system call.
constexpr uint64_t kListedPerWindow = 4;
constexpr uint64_t kMinListed = 32;
constexpr uint64_t kMaxChunks = 1 << 20;
constexpr uint64_t kMaxFastChunks = 1 << 16;
constexpr uint64_t kHeapBytes = 64 << 20;  // of an arena that is not the main one: size and alignment
constexpr uint64_t kMappedFlag = 2;
constexpr uint64_t kTopBefore = 2 * kWord;
constexpr uint64_t kFastBefore = kTopBefore + 10 * kWord;
// From the begin of an arena's state to the heads: glibc 2.26 to 2.42; before; without fast lists.
constexpr uint64_t kBinsIn[] = {112, 104, 32, 24};

// What a heap of an arena that is not the main one begins with; newer versions of glibc have more.
struct HeapInfo {
  uint64_t arena;
  uint64_t previous;
  uint64_t size;
  uint64_t writable;
};

class Walk {
 public:
  Walk(const MemorySource& source, GlibcFree* sum, void* window)
      : source_(source), sum_(*sum), window_(window) {}

  // `break_start`: of the main arena; `first_chunk`: of another one, about; 0: not known.
  void arena(uint64_t bins, uint64_t break_start, uint64_t first_chunk) {
    ++sum_.arenas;
    const uint64_t top = this->top(bins);
    heap(bins, top, break_start, first_chunk);
    fast_lists(bins);
  }

  // The chunk that a heap begins with is often the cache of the thread that began it: counts of 64 sizes.
  void cache(uint64_t first_chunk) {
    constexpr uint64_t kCacheSizes = 64;
    struct {
      uint64_t size_before;
      uint64_t size;
      uint16_t counts[kCacheSizes];
      uint64_t entries[kCacheSizes];
    } cache;
    static_assert(sizeof(cache) == 16 + 128 + 512);
    if (!source_.read(source_.context, first_chunk, &cache, sizeof(cache)) ||
        (cache.size & ~kSizeFlags) != 0x290) {
      return;
    }
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < kCacheSizes; ++i) {
      if ((cache.counts[i] == 0) != (cache.entries[i] == 0) || cache.counts[i] > 1024) {
        return;  // it is something else
      }
      bytes += cache.counts[i] * (32 + 16 * i);
    }
    add(0, bytes);
  }

 private:
  // By the lists where they are short, otherwise from chunk to chunk: large heaps may have little free, small ones holes.
  void heap(uint64_t bins, uint64_t top, uint64_t break_start, uint64_t first_chunk) {
    uint64_t system_bytes = 0;
    const bool may_walk =
        window_ != nullptr && top != 0 && source_.load(bins + kNextBehind + 3 * kWord, &system_bytes);
    const GlibcFree before = sum_;
    const uint64_t max = kMinListed + system_bytes / ChunkWalk::kWindowBytes * kListedPerWindow;
    if (lists(bins, may_walk ? max : kMaxChunks) || sum_.is_cut || !may_walk) {
      return;
    }
    const GlibcFree by_lists = sum_;
    sum_ = before;
    ChunkWalk chunks(source_, window_);
    const bool is_whole = break_start != 0 ? main_heap(system_bytes, break_start, top, &chunks)
                                           : first_chunk != 0 && heaps(first_chunk, top, &chunks);
    sum_.free_bytes += chunks.free_bytes();
    sum_.free_resident_bytes += chunks.free_resident_bytes();
    if (chunks.is_cut()) {
      sum_ = sum_.free_bytes < by_lists.free_bytes ? by_lists : sum_;  // there is as much, at least
      sum_.is_cut = true;
    } else if (!is_whole) {
      sum_ = before;
      lists(bins, kMaxChunks);
    }
  }

  // Not: somebody else moved the break, too.
  bool main_heap(uint64_t system_bytes, uint64_t break_start, uint64_t top, ChunkWalk* chunks) {
    uint64_t bytes = 0;
    return break_start < top && source_.load(top + kWord, &bytes) &&
           system_bytes == top + (bytes & ~kSizeFlags) - break_start && chunks->walk(break_start, top) == top;
  }

  // The heaps of another arena, from the last one, which has the top, to the first.
  bool heaps(uint64_t first_chunk, uint64_t top, ChunkWalk* chunks) {
    uint64_t heap = top / kHeapBytes * kHeapBytes;
    uint64_t end = top;
    for (uint64_t count = 0; count < kMaxHeaps; ++count) {
      HeapInfo info;
      if (!source_.load(heap, &info) || info.size > kHeapBytes || info.size < source_.page_bytes) {
        return false;
      }
      const bool is_first = info.previous == 0;
      end = count != 0 ? heap + info.size : end;
      const uint64_t begin = first_of_heap(is_first ? first_chunk : heap + sizeof(HeapInfo), end, chunks);
      const uint64_t reached = begin != 0 ? chunks->walk(begin, end) : 0;
      // All but the last heap end with small chunks that keep others from going on.
      if (reached != end && (count == 0 || end - reached > source_.page_bytes)) {
        return false;
      }
      if (is_first || info.previous % kHeapBytes != 0) {
        return is_first && first_chunk / kHeapBytes * kHeapBytes == heap;
      }
      heap = info.previous;
    }
    return false;
  }

  // Where a heap's chunks begin: a few words behind what glibc has in front of them, by its version.
  static uint64_t first_of_heap(uint64_t about, uint64_t end, ChunkWalk* chunks) {
    uint64_t at = (about + 15) / 16 * 16;
    for (uint64_t tries = 0; tries < 4 && !chunks->may_be_first(at, end); ++tries) {
      at += 16;
    }
    return chunks->may_be_first(at, end) ? at : 0;
  }

  // false: there are more chunks than that, and some were left out.
  bool lists(uint64_t bins, uint64_t max_chunks) {
    const uint64_t end = chunks_ + max_chunks;
    // The largest chunks first: they matter where the time is over.
    for (uint64_t i = kBins; i-- > 0 && chunks_ < end;) {
      uint64_t first = 0;
      if (source_.load(bins + 2 * i * kWord, &first)) {
        list(head_of(bins, i), first, end);
      }
    }
    return chunks_ < end;
  }

  void add(uint64_t chunk, uint64_t bytes) {
    sum_.free_bytes += bytes;
    const uint64_t inside = source_.page_behind(chunk + sizeof(Chunk) + 2 * kWord);
    const uint64_t end = source_.page_of(chunk + bytes);
    uint64_t absent = 0;
    if (chunk != 0 && end > inside) {
      absent = end - inside - source_.count(Pages::kPrivate, inside, end);
    }
    sum_.free_resident_bytes += absent < bytes ? bytes - absent : 0;
  }

  // Returns where it lies; 0: there is none.
  uint64_t top(uint64_t bins) {
    uint64_t at = 0;
    Chunk chunk;
    if (source_.load(bins - kTopBefore, &at) && at % 16 == 0 && source_.load(at, &chunk) &&
        is_chunk_size(chunk.bytes())) {
      add(at, chunk.bytes());
      return at;
    }
    return 0;
  }

  bool may_go_on() {
    if (++chunks_ > kMaxChunks || (chunks_ % 256 == 0 && !source_.may_go_on())) {
      sum_.is_cut = true;
    }
    return !sum_.is_cut;
  }

  void list(uint64_t head, uint64_t first, uint64_t end) {
    uint64_t before = head;
    for (uint64_t at = first; at != head && chunks_ < end && may_go_on();) {
      Chunk chunk;
      if (at % 16 != 0 || !source_.load(at, &chunk) || chunk.previous != before ||
          !is_chunk_size(chunk.bytes())) {
        return;
      }
      add(at, chunk.bytes());
      before = at;
      at = chunk.next;
    }
  }

  // Links are masked by where they lie, from glibc 2.32 on.
  void fast_lists(uint64_t bins) {
    uint64_t firsts[10];
    if (!source_.read(source_.context, bins - kFastBefore, firsts, sizeof(firsts))) {
      return;
    }
    for (uint64_t i = 0; i < 10; ++i) {
      const uint64_t expected = 32 + 16 * i;
      Chunk chunk;
      uint64_t count = 0;  // nothing points back: a circle would not be seen
      for (uint64_t at = firsts[i]; at != 0 && at % 16 == 0 && !sum_.is_cut && may_go_on();) {
        if (++count > kMaxFastChunks) {
          sum_.is_cut = true;
          return;
        }
        if (!source_.read(source_.context, at, &chunk, 3 * kWord) || chunk.bytes() != expected) {
          break;
        }
        add(0, expected);
        const uint64_t unmasked = chunk.next ^ ((at + 2 * kWord) >> 12);
        at = unmasked % 16 == 0 ? unmasked : chunk.next;
      }
    }
  }

  const MemorySource& source_;
  GlibcFree& sum_;
  void* const window_;
  uint64_t chunks_ = 0;
};

bool are_bins(const MemorySource& source, uint64_t bins, uint64_t min_empty) {
  constexpr uint64_t kAtOnce = 16;  // signal handlers may have a small stack
  uint64_t words[2 * kAtOnce];
  uint64_t empty = 0;
  for (uint64_t first = 0; first < kBins; first += kAtOnce) {
    const uint64_t count = kBins - first < kAtOnce ? kBins - first : kAtOnce;
    if (bins % kWord != 0 ||
        !source.read(source.context, bins + 2 * first * kWord, words, 2 * count * kWord)) {
      return false;
    }
    empty += count_empty(words, bins, first, count);
  }
  return empty >= min_empty;
}

bool is_arena(const MemorySource& source, uint64_t bins) {
  return are_bins(source, bins, kMinEmptyOther) && is_state(source, bins);
}

}  // namespace

GlibcFree read_glibc_free(const MemorySource& source, uint64_t main_bins, uint64_t break_start,
                          void* window) {
  static_assert(kGlibcWindowBytes >= ChunkWalk::kWindowBytes);
  GlibcFree sum;
  Walk walk(source, &sum, window);
  sum.is_known = true;
  walk.arena(main_bins, break_start, 0);
  if (break_start != 0) {
    walk.cache(break_start);
  }
  uint64_t next = 0;
  if (!source.load(main_bins + kNextBehind, &next)) {
    return sum;
  }
  // Which of the layouts it is, the first other arena tells; where there is none, `next` is the main one.
  uint64_t bins_in = 0;
  for (const uint64_t candidate : kBinsIn) {
    if (next == main_bins - candidate) {
      return sum;
    }
    if (bins_in == 0 && is_arena(source, next + candidate)) {
      bins_in = candidate;
    }
  }
  while (bins_in != 0 && next != main_bins - bins_in && sum.arenas < kMaxArenas && !sum.is_cut) {
    if (!is_arena(source, next + bins_in)) {
      break;
    }
    // Behind the state of the arena, which ends some words behind its lists.
    const uint64_t first_chunk = (next + bins_in + kNextBehind + 32 + 15) / 16 * 16;
    walk.arena(next + bins_in, 0, first_chunk);
    for (uint64_t at = first_chunk, tries = 0; tries < 4; ++tries, at += 16) {
      walk.cache(at);
    }
    if (!source.load(next + bins_in + kNextBehind, &next)) {
      break;
    }
  }
  return sum;
}

uint64_t glibc_chunk_bytes(const MemorySource& source, uint64_t address, uint64_t size_bytes,
                           bool* is_mapped) {
  *is_mapped = false;
  Chunk header;
  if (address % 16 != 0 || address < 16 || !source.read(source.context, address - 16, &header, 2 * kWord)) {
    return 0;
  }
  const uint64_t bytes = header.bytes();
  if ((header.size & kMappedFlag) != 0) {
    // `before`: what an alignment left unused in front.
    const uint64_t page = source.page_bytes;
    *is_mapped = (bytes + header.size_before) % page == 0 && bytes >= size_bytes + 16 &&
                 header.size_before < bytes + page && bytes - size_bytes - 16 < 2 * page + size_bytes / 2;
    return *is_mapped ? bytes : 0;
  }
  // A remainder that is too small for a chunk of its own stays with the block.
  const uint64_t min = size_bytes + 8 < 32 ? 32 : (size_bytes + 8 + 15) / 16 * 16;
  return bytes >= min && bytes <= min + 48 ? bytes : 0;
}

bool is_glibc_heap(const MemorySource& source, uint64_t start, uint64_t limit) {
  HeapInfo heap;
  if (start % kHeapBytes != 0 || !source.load(start, &heap)) {
    return false;
  }
  const bool is_first = heap.arena > start && heap.arena < start + source.page_bytes;
  return (is_first || (heap.previous % kHeapBytes == 0 && heap.previous != 0)) &&
         heap.size >= source.page_bytes && heap.size <= kHeapBytes && heap.size % source.page_bytes == 0 &&
         heap.writable >= heap.size && heap.writable <= kHeapBytes &&
         start + heap.size <= limit + kHeapBytes && heap.arena % 8 == 0;
}

}  // namespace memprof::resident
