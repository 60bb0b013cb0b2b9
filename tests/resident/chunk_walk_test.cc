// SPDX-License-Identifier: Apache-2.0
#include "resident/chunk_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace memprof::resident {
namespace {

constexpr uint64_t kHeapStart = 0x10000000;

// A heap that is made up: chunks one behind the other, and pages that are not in memory.
class Heap {
 public:
  // Returns where it lies.
  uint64_t add(uint64_t bytes, bool is_free) {
    const uint64_t at = end();
    words_[(at - kHeapStart) / 8 + 1] |= bytes;
    words_.resize(words_.size() + bytes / 8);
    words_[words_.size() - 1] = is_free ? 0 : 1;  // the flag of the next one
    words_[words_.size() - 2] = is_free ? bytes : 0x1234;
    return at;
  }
  uint64_t end() const { return kHeapStart + 8 * words_.size() - 16; }
  uint64_t& word(uint64_t at) { return words_[(at - kHeapStart) / 8]; }

  MemorySource source() {
    return {this,
            [](void* context, uint64_t address, void* bytes, size_t size) {
              auto* const self = static_cast<Heap*>(context);
              ++self->reads_;
              self->read_bytes_ += size;
              const uint64_t limit = kHeapStart + 8 * self->words_.size();
              if (address < kHeapStart || address + size > limit) return false;
              std::memcpy(bytes, reinterpret_cast<char*>(self->words_.data()) + (address - kHeapStart), size);
              for (uint64_t at = self->absent_start_; at < self->absent_limit_; at += 4096) {
                self->absent_reads_ += address < at + 4096 && address + size > at ? 1 : 0;
              }
              return true;
            },
            [](void* context, Pages, uint64_t start, uint64_t limit) {
              auto* const self = static_cast<Heap*>(context);
              ++self->asked_;
              const uint64_t from = std::max(start, self->absent_start_);
              const uint64_t to = std::min(limit, self->absent_limit_);
              return limit - start - (to > from ? to - from : 0);
            },
            [](void*, char*, size_t) -> size_t { return 0; },
            [](void* context) { return static_cast<Heap*>(context)->has_time_; }};
  }

  uint64_t reads_ = 0, read_bytes_ = 0, asked_ = 0;
  uint64_t absent_start_ = 0, absent_limit_ = 0, absent_reads_ = 0;
  bool has_time_ = true;

 private:
  std::vector<uint64_t> words_ = {0, 1};
};

TEST(ChunkWalkTest, EachPageIsReadOnceHoweverManyChunksAreFree) {
  Heap heap;
  uint64_t free = 0;
  constexpr int kChunks = 100000;
  for (int i = 0; i < kChunks; ++i) {
    const auto bytes = static_cast<uint64_t>(112 + i * 32 % 400 / 16 * 16);
    heap.add(bytes, i % 2 == 0);
    free += i % 2 == 0 ? bytes : 0;
  }
  const uint64_t end = heap.add(4096, false);
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_EQ(end, walk.walk(kHeapStart, end));
  EXPECT_EQ(free, walk.free_bytes());
  EXPECT_EQ(free, walk.free_resident_bytes());
  EXPECT_FALSE(walk.is_cut());
  const uint64_t bytes = end - kHeapStart;
  EXPECT_LE(heap.reads_, bytes / ChunkWalk::kWindowBytes + 2);
  EXPECT_LE(heap.read_bytes_, bytes + bytes / 100);
  EXPECT_LE(heap.asked_, bytes / (1 << 20) + 2);
}

TEST(ChunkWalkTest, PagesOfFreeChunksThatAreNotInMemoryAreNeitherCountedNorRead) {
  Heap heap;
  heap.add(4096 - 16, false);
  const uint64_t at = heap.add(64 * 4096, true);
  const uint64_t end = heap.add(4096, false);
  heap.absent_start_ = at / 4096 * 4096 + 4096;
  heap.absent_limit_ = heap.absent_start_ + 32 * 4096;
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_EQ(end, walk.walk(kHeapStart, end));
  EXPECT_EQ(64u * 4096, walk.free_bytes());
  // The first of the absent pages has the chunk's links, so that it cannot be absent.
  EXPECT_EQ(33u * 4096, walk.free_resident_bytes());
  EXPECT_EQ(0u, heap.absent_reads_);
}

TEST(ChunkWalkTest, PagesAreAsLargeAsTheSystemHasThem) {
  constexpr uint64_t kLarge = 16384;
  Heap heap;
  heap.add(4096 - 16, false);
  const uint64_t at = heap.add(16 * kLarge, true);
  const uint64_t end = heap.add(kLarge, false);
  heap.absent_start_ = at / kLarge * kLarge + kLarge;
  heap.absent_limit_ = heap.absent_start_ + 8 * kLarge;
  MemorySource source = heap.source();
  source.page_bytes = kLarge;
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_EQ(end, walk.walk(kHeapStart, end));
  EXPECT_EQ(16 * kLarge, walk.free_bytes());
  EXPECT_EQ(8 * kLarge, walk.free_resident_bytes());
}

TEST(MemorySourceTest, ItsPages) {
  MemorySource source;
  EXPECT_EQ(4096u, source.page_of(8191));
  EXPECT_EQ(8192u, source.page_behind(4097));
  EXPECT_EQ(8192u, source.page_behind(8192));
  source.page_bytes = 65536;
  EXPECT_EQ(0u, source.page_of(65535));
  EXPECT_EQ(65536u, source.page_behind(1));
}

TEST(ChunkWalkTest, WhereThereIsNoChunkItEnds) {
  Heap heap;
  heap.add(48, false);
  const uint64_t wrong = heap.add(64, false);
  const uint64_t end = heap.add(48, false);
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  for (const uint64_t size : {uint64_t{17}, uint64_t{73}, uint64_t{1} << 40}) {
    heap.word(wrong + 8) = size;
    ChunkWalk walk(source, window.data());
    EXPECT_EQ(wrong, walk.walk(kHeapStart, end)) << size;
  }
  ChunkWalk walk(source, window.data());
  EXPECT_EQ(end + (1 << 20), walk.walk(end + (1 << 20), end + (2 << 20)));  // it cannot be read
  EXPECT_EQ(0u, walk.free_bytes());
}

TEST(ChunkWalkTest, OneThatIsBeingChangedIsNotFree) {
  Heap heap;
  const uint64_t free = heap.add(64, true);
  const uint64_t end = heap.add(48, false);
  heap.word(free + 64) = 80;  // the size behind it
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_EQ(end, walk.walk(kHeapStart, end));
  EXPECT_EQ(0u, walk.free_bytes());
}

TEST(ChunkWalkTest, WithoutTimeItSaysSo) {
  Heap heap;
  for (int i = 0; i < 10000; ++i) heap.add(64, i % 2 == 0);
  const uint64_t end = heap.add(48, false);
  heap.has_time_ = false;
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_LT(walk.walk(kHeapStart, end), end);
  EXPECT_TRUE(walk.is_cut());
  EXPECT_LT(walk.free_bytes(), 10000u * 32);
}

TEST(ChunkWalkTest, AHeapsFirstChunk) {
  Heap heap;
  const uint64_t first = heap.add(64, false);
  const uint64_t end = heap.add(48, false);
  const MemorySource source = heap.source();
  std::vector<uint64_t> window(ChunkWalk::kWindowBytes / 8);
  ChunkWalk walk(source, window.data());
  EXPECT_TRUE(walk.may_be_first(first, end + 48));
  EXPECT_TRUE(walk.may_be_first(end, end + 48));
  EXPECT_FALSE(walk.may_be_first(first + 16, end + 48));
  EXPECT_FALSE(walk.may_be_first(first + 8, end + 48));
}

}  // namespace
}  // namespace memprof::resident
