// SPDX-License-Identifier: Apache-2.0
#include "resident/glibc_heap.h"

#include <cstring>

namespace memprof::resident {
namespace {

constexpr uint64_t kBins = 127;
constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kBinWords = 2 * kBins;
constexpr uint64_t kMinEmpty = 64;       // of the main arena: no program fills so many lists
constexpr uint64_t kMinEmptyOther = 16;  // where an arena is already expected
constexpr uint64_t kMaxArenas = 1024;
constexpr uint64_t kMaxChunks = 1 << 20;
constexpr uint64_t kMaxFastChunks = 1 << 16;
constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 40;
constexpr uint64_t kHeapBytes = 64 << 20;  // of an arena that is not the main one: size and alignment
constexpr uint64_t kPage = 4096;
constexpr uint64_t kSizeFlags = 7;
constexpr uint64_t kMappedFlag = 2;
// Around the heads of the lists.
constexpr uint64_t kTopBefore = 2 * kWord;
constexpr uint64_t kFastBefore = kTopBefore + 10 * kWord;
constexpr uint64_t kNextBehind = kBinWords * kWord + 16;
// From the begin of an arena's state to the heads: glibc 2.26 to 2.42; before; without fast lists.
constexpr uint64_t kBinsIn[] = {112, 104, 32, 24};

struct Chunk {
  uint64_t size_before;
  uint64_t size;
  uint64_t next;
  uint64_t previous;
  uint64_t bytes() const { return size & ~kSizeFlags; }
};

bool is_chunk_size(uint64_t bytes) {
  return bytes >= 32 && bytes % 16 == 0 && bytes < kMaxChunkBytes;
}

// Where the head of list `i` would lie as a chunk.
uint64_t head_of(uint64_t bins, uint64_t i) {
  return bins + (2 * i - 2) * kWord;
}

// How many of `count` heads from list `first` on, whose words are given, are of empty lists.
uint64_t count_empty(const uint64_t* words, uint64_t bins, uint64_t first, uint64_t count) {
  uint64_t empty = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t head = head_of(bins, first + i);
    empty += words[2 * i] == head && words[2 * i + 1] == head ? 1 : 0;
  }
  return empty;
}

bool is_empty(const uint64_t* words, uint64_t bins, uint64_t i) {
  return count_empty(words + 2 * i, bins, i, 1) == 1;
}

class Walk {
 public:
  Walk(const MemorySource& source, GlibcFree* sum) : source_(source), sum_(*sum) {}

  void arena(uint64_t bins) {
    ++sum_.arenas;
    top(bins);
    // The largest chunks first: they matter where the time is over.
    for (uint64_t i = kBins; i-- > 0;) {
      uint64_t first = 0;
      if (source_.load(bins + 2 * i * kWord, &first)) {
        list(head_of(bins, i), first);
      }
    }
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
  // [inside, ...) of a free chunk has pages that nothing uses.
  void add(uint64_t chunk, uint64_t bytes) {
    sum_.free_bytes += bytes;
    const uint64_t inside = (chunk + sizeof(Chunk) + 2 * kWord + kPage - 1) / kPage * kPage;
    const uint64_t end = (chunk + bytes) / kPage * kPage;
    uint64_t absent = 0;
    if (chunk != 0 && end > inside) {
      absent = end - inside - source_.count(Pages::kPrivate, inside, end);
    }
    sum_.free_resident_bytes += absent < bytes ? bytes - absent : 0;
  }

  void top(uint64_t bins) {
    uint64_t at = 0;
    Chunk chunk;
    if (source_.load(bins - kTopBefore, &at) && at % 16 == 0 && source_.load(at, &chunk) &&
        is_chunk_size(chunk.bytes())) {
      add(at, chunk.bytes());
    }
  }

  bool may_go_on() {
    if (++chunks_ > kMaxChunks || (chunks_ % 256 == 0 && !source_.may_go_on())) {
      sum_.is_cut = true;
    }
    return !sum_.is_cut;
  }

  void list(uint64_t head, uint64_t first) {
    uint64_t before = head;
    for (uint64_t at = first; at != head && may_go_on();) {
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
      for (uint64_t at = firsts[i]; at != 0 && at % 16 == 0 && may_go_on();) {
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

// What stands behind the lists: the next arena, and how much the arena has of the system, in pages.  A window of the
// words that is a few lists off has something else there.
bool is_state(const MemorySource& source, uint64_t bins) {
  struct {
    uint64_t next;
    uint64_t next_free;
    uint64_t attached_threads;
    uint64_t system_bytes;
  } state;
  return source.load(bins + kNextBehind, &state) && state.next > kPage && state.next % kWord == 0 &&
         state.system_bytes != 0 && state.system_bytes % kPage == 0 && state.attached_threads < (1U << 22);
}

bool is_arena(const MemorySource& source, uint64_t bins) {
  return are_bins(source, bins, kMinEmptyOther) && is_state(source, bins);
}

}  // namespace

bool find_main_arena(const MemorySource& source, uint64_t start, uint64_t limit, void* room, uint64_t* bins) {
  const uint64_t size = limit - start < kGlibcScratchBytes ? limit - start : kGlibcScratchBytes;
  if (start >= limit || start % kWord != 0 || !source.read(source.context, start, room, size)) {
    return false;
  }
  const auto* const words = static_cast<const uint64_t*>(room);
  for (uint64_t i = 0; i + kBinWords <= size / kWord; ++i) {
    // The last list is nearly always empty; any of a few is.
    const uint64_t at = start + i * kWord;
    const bool may_be = is_empty(words + i, at, 126) || is_empty(words + i, at, 125) ||
                        is_empty(words + i, at, 60) || is_empty(words + i, at, 40);
    if (may_be && count_empty(words + i, at, 0, kBins) >= kMinEmpty && is_state(source, at)) {
      *bins = at;
      return true;
    }
  }
  return false;
}

GlibcFree read_glibc_free(const MemorySource& source, uint64_t main_bins, uint64_t break_start) {
  GlibcFree sum;
  Walk walk(source, &sum);
  sum.is_known = true;
  walk.arena(main_bins);
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
    walk.arena(next + bins_in);
    // Behind the state of the arena, which ends some words behind its lists.
    for (uint64_t at = (next + bins_in + kNextBehind + 32 + 15) / 16 * 16, tries = 0; tries < 4;
         ++tries, at += 16) {
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
  struct {
    uint64_t before;
    uint64_t size;
  } header;
  if (address % 16 != 0 || address < 16 || !source.load(address - 16, &header)) {
    return 0;
  }
  const uint64_t bytes = header.size & ~kSizeFlags;
  if ((header.size & kMappedFlag) != 0) {
    // `before`: what an alignment left unused in front.
    *is_mapped = (bytes + header.before) % kPage == 0 && bytes >= size_bytes + 16 &&
                 header.before < bytes + kPage && bytes - size_bytes - 16 < 2 * kPage + size_bytes / 2;
    return *is_mapped ? bytes : 0;
  }
  // A remainder that is too small for a chunk of its own stays with the block.
  const uint64_t min = size_bytes + 8 < 32 ? 32 : (size_bytes + 8 + 15) / 16 * 16;
  return bytes >= min && bytes <= min + 48 ? bytes : 0;
}

bool is_glibc_heap(const MemorySource& source, uint64_t start, uint64_t limit) {
  struct {
    uint64_t arena;
    uint64_t previous;
    uint64_t size;
    uint64_t writable;
  } heap;
  if (start % kHeapBytes != 0 || !source.load(start, &heap)) {
    return false;
  }
  const bool is_first = heap.arena > start && heap.arena < start + kPage;
  return (is_first || (heap.previous % kHeapBytes == 0 && heap.previous != 0)) && heap.size >= kPage &&
         heap.size <= kHeapBytes && heap.size % kPage == 0 && heap.writable >= heap.size &&
         heap.writable <= kHeapBytes && start + heap.size <= limit + kHeapBytes && heap.arena % 8 == 0;
}

}  // namespace memprof::resident
