// SPDX-License-Identifier: Apache-2.0
#include "resident/glibc_heap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/made_up_process.h"

namespace memprof::resident {
namespace {

using testing_support::MadeUp;

constexpr uint64_t kData = 0x7f0000000000;
constexpr uint64_t kBins = kData + 0x460;

// Where its lists begin several places fit, but for what stands behind them; where it is the only one, its next is itself.
TEST(GlibcHeapTest, OneArenaIsCountedOnce) {
  MadeUp process;
  process.add_arena(kBins);
  process.add_chunk(kBins, 62, 0x200000, 1008);
  const GlibcFree free = read_glibc_free(process.source(), kBins, 0);
  EXPECT_EQ(1u, free.arenas);
  EXPECT_EQ(1008u, free.free_bytes);
}

TEST(GlibcHeapTest, ListsTopAndOtherArenas) {
  MadeUp process;
  process.add_arena(kBins);
  process.put(kBins - 16, 0x100000);
  process.put(0x100008, 0x21001);  // the top
  process.add_chunk(kBins, 0, 0x200000, 0x500);
  process.add_chunk(kBins, 0, 0x201000, 0x100000);
  process.put(kBins - 96, 0x300000);  // a fast list of two, whose links are masked
  process.put(0x300008, 0x21);
  process.put(0x300010, 0x300040 ^ (0x300010 >> 12));
  process.put(0x300048, 0x21);
  process.put(0x300050, 0 ^ (0x300050 >> 12));
  constexpr uint64_t kOther = 0x7e0000000030 + 112;
  process.add_arena(kOther);
  process.put(kBins + 2032 + 16, kOther - 112);
  process.put(kOther + 2032 + 16, kBins - 112);
  process.add_chunk(kOther, 60, 0x7e0000010000, 0x4000);
  const GlibcFree free = read_glibc_free(process.source(), kBins, 0);
  EXPECT_TRUE(free.is_known);
  EXPECT_FALSE(free.is_cut);
  EXPECT_EQ(2u, free.arenas);
  EXPECT_EQ(0x21000u + 0x500 + 0x100000 + 0x40 + 0x4000, free.free_bytes);
  EXPECT_EQ(free.free_bytes, free.free_resident_bytes);
}

TEST(GlibcHeapTest, AnotherArenaMayHaveNearlyAllListsFilled) {
  MadeUp process;
  process.add_arena(kBins);
  constexpr uint64_t kOther = 0x7e0000000030 + 112;
  process.add_arena(kOther);
  process.put(kBins + 2032 + 16, kOther - 112);
  process.put(kOther + 2032 + 16, kBins - 112);
  for (uint64_t list = 0; list < 120; ++list) {
    process.add_chunk(kOther, list, 0x7e0000010000 + list * 0x10000, 0x500);
  }
  const GlibcFree free = read_glibc_free(process.source(), kBins, 0);
  EXPECT_EQ(2u, free.arenas);
  EXPECT_EQ(120u * 0x500, free.free_bytes);
}

// Lists that somebody changes, or that are lies.
TEST(GlibcHeapTest, ListsThatDoNotCloseEnd) {
  MadeUp process;
  process.add_arena(kBins);
  process.add_chunk(kBins, 0, 0x200000, 0x500);
  process.put(0x200010, 0x200000);  // to itself
  process.add_chunk(kBins, 5, 0x300000, 0x500);
  process.put(0x300008, 0xfffffffffffffff1);     // no size
  process.add_chunk(kBins, 6, 0x400008, 0x500);  // not aligned
  process.put(kBins - 96, 0x500000);             // a fast list in a circle
  process.put(0x500008, 0x21);
  process.put(0x500010, 0x500000 ^ (0x500010 >> 12));
  process.put(kBins + 2032 + 16, 0x600000);  // no arena
  const GlibcFree free = read_glibc_free(process.source(), kBins, 0);
  EXPECT_TRUE(free.is_cut);
  EXPECT_EQ(1u, free.arenas);
  EXPECT_LT(process.reads(), 1u << 17);
}

TEST(GlibcHeapTest, ChunksOfBlocks) {
  MadeUp process;
  bool is_mapped = true;
  process.put(0x1008, 0x3f1);
  EXPECT_EQ(0x3f0u, glibc_chunk_bytes(process.source(), 0x1010, 1000, &is_mapped));
  EXPECT_FALSE(is_mapped);
  EXPECT_EQ(0u, glibc_chunk_bytes(process.source(), 0x1010, 1001, &is_mapped));  // it does not fit
  EXPECT_EQ(0u, glibc_chunk_bytes(process.source(), 0x1010, 16, &is_mapped));    // nobody gives so much
  EXPECT_EQ(0u, glibc_chunk_bytes(process.source(), 0x1018, 1000, &is_mapped));
  EXPECT_EQ(0u, glibc_chunk_bytes(process.source(), 0, 1000, &is_mapped));
  process.put(0x10008, 0x101000 | 2);
  EXPECT_EQ(0x101000u, glibc_chunk_bytes(process.source(), 0x10010, 1 << 20, &is_mapped));
  EXPECT_TRUE(is_mapped);
}

TEST(GlibcHeapTest, HeapsOfArenas) {
  MadeUp process;
  constexpr uint64_t kHeap = 0x7e0000000000;
  process.put(kHeap, kHeap + 0x30);
  process.put(kHeap + 16, 0x21000);
  process.put(kHeap + 24, 0x21000);
  EXPECT_TRUE(is_glibc_heap(process.source(), kHeap, kHeap + 0x21000));
  EXPECT_FALSE(is_glibc_heap(process.source(), kHeap + 0x1000, kHeap + 0x21000));
  process.put(kHeap + 16, 0x21001);
  EXPECT_FALSE(is_glibc_heap(process.source(), kHeap, kHeap + 0x21000));
}

// This process itself, read as another one would be.
struct OwnMemory {
  uint64_t reads = 0;
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

  MemorySource source() {
    return {this,
            [](void* context, uint64_t address, void* bytes, size_t size) {
              auto* const self = static_cast<OwnMemory*>(context);
              ++self->reads;
              return pread(self->memory, bytes, size, static_cast<off_t>(address)) ==
                     static_cast<ssize_t>(size);
            },
            [](void*, Pages, uint64_t start, uint64_t limit) { return limit - start; },
            [](void*, char*, size_t) -> size_t { return 0; }, [](void*) { return true; }};
  }
};

TEST(GlibcHeapTest, AHeapFullOfHolesIsReadInFewPieces) {
  std::vector<std::unique_ptr<char[]> > blocks(60000);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = std::make_unique<char[]>(100 + i * 37 % 400);
  for (size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  if (mallinfo2().arena < 9'000'000) GTEST_SKIP() << "malloc is not glibc's";
  OwnMemory memory;
  const MemorySource source = memory.source();
  std::vector<char> room(kGlibcScratchBytes);
  uint64_t bins = 0;
  uint64_t break_start = 0;
  uint64_t break_limit = 0;
  std::ifstream map("/proc/self/maps");
  for (std::string line; std::getline(map, line);) {
    uint64_t start = 0;
    uint64_t limit = 0;
    std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &start, &limit);
    if (line.find("[heap]") != std::string::npos) {
      break_start = start;
      break_limit = limit;
    } else if (bins == 0 && line.find(" rw-p ") != std::string::npos &&
               line.find("/libc.so") != std::string::npos) {
      find_main_arena(source, start, limit, room.data(), &bins);
    }
  }
  if (bins == 0 || break_start == 0) GTEST_SKIP() << "no heap of glibc's";
  std::vector<uint64_t> window(kGlibcWindowBytes / 8);
  memory.reads = 0;
  const GlibcFree free = read_glibc_free(source, bins, break_start, window.data());
  const uint64_t reads = memory.reads;
  const auto expected = static_cast<double>(mallinfo2().fordblks);
  EXPECT_GT(expected, 5e6);
  EXPECT_FALSE(free.is_cut);
  EXPECT_NEAR(expected, static_cast<double>(free.free_bytes), expected / 20);
  EXPECT_LE(reads, 2 * (break_limit - break_start) / kGlibcWindowBytes + 2000);  // and fast lists
  memory.reads = 0;
  const GlibcFree by_lists = read_glibc_free(source, bins, break_start);
  EXPECT_NEAR(static_cast<double>(by_lists.free_bytes), static_cast<double>(free.free_bytes), 1000);
  EXPECT_GT(memory.reads, 5 * reads);
}

}  // namespace
}  // namespace memprof::resident
