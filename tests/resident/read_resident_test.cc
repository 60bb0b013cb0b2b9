// SPDX-License-Identifier: Apache-2.0
#include "resident/read_resident.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace memprof::resident {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A process that is made up: the text of its map, words, and ranges whose pages are not in memory.
struct MadeUpMap {
  std::string map;
  size_t read_bytes = 0;
  std::map<uint64_t, uint64_t> words;
  uint64_t absent_start = 0, absent_limit = 0;
  bool has_time = true;
  uint64_t max_bytes = UINT64_MAX;  // time is over when so many have been counted
  uint64_t counted_bytes = 0;

  MemorySource source() {
    return {this,
            [](void* context, uint64_t address, void* bytes, size_t size) {
              auto* const self = static_cast<MadeUpMap*>(context);
              std::memset(bytes, 0, size);
              for (size_t i = 0; i < size; i += 8) {
                const auto found = self->words.find(address + i);
                if (found != self->words.end()) std::memcpy(static_cast<char*>(bytes) + i, &found->second, 8);
              }
              return true;
            },
            [](void* context, Pages, uint64_t start, uint64_t limit) {
              auto* const self = static_cast<MadeUpMap*>(context);
              self->counted_bytes += limit - start;
              start = start / 4096 * 4096;
              limit = (limit + 4095) / 4096 * 4096;
              const uint64_t from = std::max(start, self->absent_start);
              const uint64_t to = std::min(limit, self->absent_limit);
              return limit - start - (to > from ? to - from : 0);
            },
            [](void* context, char* text, size_t size) {
              auto* const self = static_cast<MadeUpMap*>(context);
              const size_t got = std::min(size, self->map.size() - self->read_bytes);
              std::memcpy(text, self->map.data() + self->read_bytes, got);
              self->read_bytes += got;
              return got;
            },
            [](void* context) {
              const auto* const self = static_cast<MadeUpMap*>(context);
              return self->has_time && self->counted_bytes < self->max_bytes;
            }};
  }

  ResidentMemory read(std::vector<Block> blocks, const Totals& totals) {
    const std::vector<uint64_t> scratch(scratch_bytes() / 8 + 1);
    const auto at = [](const void* list, size_t i) {
      return (*static_cast<const std::vector<Block>*>(list))[i];
    };
    return read_resident(source(), totals, {blocks.size(), at, &blocks},
                         const_cast<uint64_t*>(scratch.data()));
  }
};

const char kMapText[] =
    "400000-500000 r-xp 0 1:1 5 /bin/program\nRss: 512 kB\n"
    "1000000-2000000 rw-p 0 0:0 0 [heap]\nRss: 16384 kB\n"
    "7f0000000000-7f0000400000 rw-p 0 0:0 0 \nRss: 4096 kB\n"
    "7f0000800000-7f0000900000 rw-p 0 0:0 0 \nRss: 1024 kB\nSwap: 4 kB\n"
    "7f0001000000-7f0001002000 ---p 0 0:0 0 \n"
    "7f0001002000-7f0001102000 rw-p 0 0:0 0 \nRss: 64 kB\n";

TEST(ReadResidentTest, PartsOfAnotherProcess) {
  MadeUpMap process;
  process.map = kMapText;
  // 8 MiB in blocks of 1,000 bytes, of which one sample stands for all; none is glibc's, none absent.
  const ResidentMemory m =
      process.read({{0x1000010, 1000, 8.0 * kMiB, 8 * kMiB / 1000.0}}, {22 * kMiB, 0, 0, 0, 4096});
  EXPECT_EQ(22 * kMiB, m.total_bytes);
  EXPECT_EQ(16 * kMiB, m.heap_bytes);
  EXPECT_EQ(512u << 10, m.files_bytes);
  EXPECT_EQ(64u << 10, m.stacks_bytes);
  EXPECT_EQ(5 * kMiB, m.anonymous_bytes);
  EXPECT_EQ(8 * kMiB, m.live_bytes);
  EXPECT_EQ(0u, m.absent_bytes);
  EXPECT_EQ(201327u, m.slack_bytes);  // 24 bytes each: the class of 1,024
  EXPECT_EQ(0u, m.free_bytes);
  EXPECT_EQ(kResidentNoGlibc, m.state);
  EXPECT_EQ(4096u, m.swap_bytes);
  EXPECT_DOUBLE_EQ(static_cast<double>(8 * kMiB - 201327), m.unexplained_heap_bytes());
  EXPECT_DOUBLE_EQ(0.5, m.fragmentation());
  EXPECT_DOUBLE_EQ(static_cast<double>(22 * kMiB - 21 * kMiB - 576 * 1024), m.difference_bytes());
}

TEST(ReadResidentTest, AMappingWithABlockIsAnAllocators) {
  MadeUpMap process;
  process.map = kMapText;
  EXPECT_EQ(20 * kMiB, process.read({{0x7f0000000010, 48, 1e6, 2e4}}, {22 * kMiB, 0, 0, 0, 0}).heap_bytes);
}

TEST(ReadResidentTest, OfAChunkThatIsMappedAsMuchAsItStandsFor) {
  MadeUpMap process;
  process.map = kMapText;
  process.words[0x7f0000000008] = (2 * kMiB) | 2;
  process.absent_start = 0x7f0000080000;
  process.absent_limit = 0x7f0000200000;
  float share = -1;
  const auto size = static_cast<double>(2 * kMiB - 4096);
  const ResidentMemory m =
      process.read({{0x7f0000000010, 2 * kMiB - 4096, size, 1, &share}}, {22 * kMiB, 0, 0, 0, 0});
  EXPECT_NEAR(0.25, share, 0.01);
  EXPECT_NEAR(1.5 * kMiB, static_cast<double>(m.absent_bytes), 8192);
  EXPECT_EQ(4096u, m.slack_bytes);
  EXPECT_NEAR(16.5 * kMiB, static_cast<double>(m.heap_bytes), 8192);
  EXPECT_EQ(21 * kMiB, m.heap_bytes + m.anonymous_bytes);
}

// Own memory: the map has no sizes, and the system's sums are of files and of shared memory.
TEST(ReadResidentTest, PoolsRightBehindALibrarysDataAreTheAllocators) {
  MadeUpMap process;
  process.map =
      "400000-500000 r-xp 0 1:1 5 /usr/bin/python3.11\nRss: 512 kB\n"
      "500000-501000 rw-p 100000 1:1 5 /usr/bin/python3.11\nRss: 4 kB\n"
      "501000-601000 rw-p 0 0:0 0 \nRss: 1024 kB\n";  // .bss and an arena of pymalloc
  process.words[0x400000] = 0x00010102464c457f;       // an ELF file
  // A pool of 100 blocks of 64 bytes.
  process.words[0x504000] = 100;
  process.words[0x504020] = uint64_t{3} << 32;
  process.words[0x504028] = (48 + 64 * 101) | uint64_t{16384 - 64} << 32;
  const ResidentMemory m = process.read({}, {2 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(16384u, m.heap_bytes);
  EXPECT_EQ(16384u - 48 - 6400, m.free_bytes);
  EXPECT_EQ((516u << 10) + kMiB - 16384, m.files_bytes);
}

// Inkscape's, whose documents lie in it.
TEST(ReadResidentTest, TheHeapOfTheBoehmCollectorHasItsName) {
  MadeUpMap process;
  process.map =
      "400000-402000 rw-p 0 1:1 5 /usr/lib/libgc.so.1.5.1\nRss: 8 kB\n"
      "1000000-2000000 rw-p 0 0:0 0 [heap]\nRss: 16384 kB\n"
      "7f0000000000-7f0000400000 rw-p 0 0:0 0 \nRss: 4096 kB\n";
  process.words[0x400100] = 3 * kMiB;
  process.words[0x401000] = 0x7f0000100000;
  process.words[0x401008] = 3 * kMiB;
  const ResidentMemory m = process.read({}, {21 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(static_cast<uint64_t>(ResidentRuntime::kBoehm), m.runtime);
  EXPECT_EQ(3 * kMiB, m.runtime_bytes);
  EXPECT_EQ(kMiB, m.anonymous_bytes);
  EXPECT_EQ(16 * kMiB, m.heap_bytes);
}

// SBCL's heap, behind its image.
TEST(ReadResidentTest, WhatLiesBehindAFileThatIsNoProgramIsNotItsData) {
  MadeUpMap process;
  process.map =
      "400000-410000 rw-p 0 1:1 5 /usr/lib/lisp.core\nRss: 64 kB\n"
      "410000-6810000 rw-p 0 0:0 0 \nRss: 102400 kB\n";
  const ResidentMemory m = process.read({}, {101 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(64u << 10, m.files_bytes);
  EXPECT_EQ(100 * kMiB, m.anonymous_bytes);
}

TEST(ReadResidentTest, PartsOfThisProcess) {
  MadeUpMap process;
  process.map =
      "400000-500000 r-xp 0 1:1 5 /bin/program\n1000000-2000000 rw-p 0 0:0 0 [heap]\n"
      "7f0000000000-7f0000100000 rw-s 0 0:1 9 /dev/shm/memprof-1-2-3.arena\n";
  const ResidentMemory m = process.read({}, {22 * kMiB, 17 * kMiB, 2 * kMiB, 3 * kMiB, 0});
  EXPECT_EQ(16 * kMiB, m.heap_bytes);
  EXPECT_EQ(3 * kMiB, m.files_bytes);  // with 1 MiB of their pages that were written
  EXPECT_EQ(1 * kMiB, m.memprof_bytes);
  EXPECT_EQ(2 * kMiB, m.shared_bytes);
  EXPECT_DOUBLE_EQ(0, m.difference_bytes());
}

TEST(ReadResidentTest, WhatWasTakenToLookAtItIsMemprofs) {
  MadeUpMap process;
  process.map = "7f0000000000-7f0000400000 rw-p 0 0:0 0 \n";
  const std::vector<uint64_t> scratch(scratch_bytes() / 8 + 1);
  const OwnPages own[] = {{0x7f0000100000, 0x7f0000200000},
                          {0x7f0000300000, 0x7f0000500000}};  // not all is there
  const ResidentMemory m = read_resident(process.source(), {4 * kMiB, 4 * kMiB, 0, 0, 0}, {},
                                         const_cast<uint64_t*>(scratch.data()), own, 2);
  EXPECT_EQ(kMiB, m.memprof_bytes);
  EXPECT_EQ(3 * kMiB, m.anonymous_bytes);
}

TEST(ReadResidentTest, WithoutTimeItSaysSo) {
  MadeUpMap process;
  process.map = kMapText;
  process.has_time = false;
  const ResidentMemory m = process.read({}, {22 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(kResidentCut, m.state & kResidentCut);
  EXPECT_FALSE(m.is_heap_known());
  EXPECT_FALSE(process.read({}, {}).is_known());
}

TEST(ReadResidentTest, LargeBlocksAreLookedAtFirst) {
  MadeUpMap process;
  process.map = kMapText;
  process.absent_start = 0x7f0000100000;
  process.absent_limit = 0x7f0000300000;
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < 2000; ++i) blocks.push_back({0x1000010 + 1008 * i, 1000, 1000, 1});
  blocks.push_back({0x7f0000000010, 4 * kMiB - 4096, 4.0 * kMiB, 1});
  process.has_time = false;
  ResidentMemory m = process.read(blocks, {22 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(kResidentCut, m.state & kResidentCut);
  EXPECT_NEAR(2.0 * kMiB, static_cast<double>(m.absent_bytes), 8192) << "of one that stands for itself";
  EXPECT_NEAR(2000.0 * 24, static_cast<double>(m.slack_bytes), 5000)
      << "some of the small ones stand for all";
  process.has_time = true;
  process.read_bytes = 0;
  m = process.read(blocks, {22 * kMiB, 0, 0, 0, 0});
  EXPECT_EQ(kResidentNoGlibc, m.state);
  EXPECT_NEAR(2.0 * kMiB, static_cast<double>(m.absent_bytes), 8192);
}

// Vim's at rate 0, at its end: 800,000 blocks took all the time, and nothing had a size.
TEST(ReadResidentTest, BlocksDoNotTakeTheTimeOfTheMappings) {
  MadeUpMap process;
  process.map = "1000000-5000000 rw-p 0 0:0 0 [heap]\n7f0000000000-7f0000400000 rw-p 0 0:0 0 \n";
  const BlockList blocks = {100'000,
                            [](const void* context, size_t i) {
                              // The first one takes all the time that there is.
                              const_cast<MadeUpMap*>(static_cast<const MadeUpMap*>(context))->has_time =
                                  false;
                              return Block{0x1000010 + 48 * i, 40, 40, 1, nullptr};
                            },
                            &process};
  const std::vector<uint64_t> scratch(scratch_bytes() / 8 + 1);
  const ResidentMemory m = read_resident(process.source(), {68 * kMiB, 68 * kMiB, 0, 0, 0}, blocks,
                                         const_cast<uint64_t*>(scratch.data()));
  EXPECT_TRUE(m.is_heap_known());
  EXPECT_EQ(64 * kMiB, m.heap_bytes);
  EXPECT_EQ(4 * kMiB, m.anonymous_bytes);
  EXPECT_EQ(4'000'000u, m.live_bytes);
}

// One of 48,000 bytes among 1,024 would have more weight than all others.
TEST(ReadResidentTest, SlackIsOfBlocksNotOfTheirBytes) {
  MadeUpMap process;
  process.map = "1000000-5000000 rw-p 0 0:0 0 [heap]\n";
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < 100'000; ++i) blocks.push_back({0x1000010 + 48 * i, 40, 40, 1});
  for (uint64_t i = 0; i < 100; ++i) blocks.push_back({0x2000010 + 57344 * i, 57344, 57344, 1});
  const ResidentMemory m = process.read(blocks, {64 * kMiB, 64 * kMiB, 0, 0, 0});
  EXPECT_NEAR(100'000.0 * 8, static_cast<double>(m.slack_bytes), 100'000.0 * 8 / 20);
}

// Of jemalloc only blocks tell which mappings it has.
TEST(ReadResidentTest, WhereFewBlocksWereSeenTheHeapOfAnotherAllocatorIsNotKnown) {
  for (const uint64_t blocks : {31, 1000}) {
    MadeUpMap process;
    process.map = "7f0000000000-7f0000400000 rw-p 0 0:0 0 \n7f0001000000-7f0005000000 rw-p 0 0:0 0 \n";
    process.max_bytes = 68 * kMiB;  // over when the mappings were counted
    std::vector<Block> list;
    for (uint64_t i = 0; i < blocks; ++i) list.push_back({0x7f0000000000 + 64 * i, 64, 64, 1});
    EXPECT_EQ(blocks == 31, process.read(list, {68 * kMiB, 68 * kMiB, 0, 0, 0}).is_heap_known()) << blocks;
  }
}

TEST(ReadResidentTest, AHeapThatTheTimeDidNotReachIsNotKnown) {
  MadeUpMap process;
  process.map = "1000000-2000000 rw-p 0 0:0 0 [heap]\n7f0000000000-7f0000400000 rw-p 0 0:0 0 \n";
  process.max_bytes = 0;
  const ResidentMemory m = process.read({{0x1000010, 1000, 1000, 1}}, {20 * kMiB, 20 * kMiB, 0, 0, 0});
  EXPECT_EQ(kResidentHeapCut | kResidentCut, m.state & (kResidentHeapCut | kResidentCut));
  EXPECT_EQ(1000u, m.live_bytes);
}

TEST(ReadResidentTest, WhatReservesTerabytesComesLastAndEndsWithTheTime) {
  MadeUpMap process;
  process.map =
      "100000000000-200000000000 rw-p 0 0:0 0 \n"  // 16 TiB
      "7f0000000000-7f0000400000 rw-p 0 0:0 0 \n";
  process.absent_start = 0x100000000000;
  process.absent_limit = 0x200000000000;
  process.max_bytes = uint64_t{1} << 40;
  const ResidentMemory m = process.read({}, {5 * kMiB, 5 * kMiB, 0, 0, 0});
  EXPECT_EQ(4 * kMiB, m.anonymous_bytes);
  EXPECT_EQ(0u, m.files_bytes);
  EXPECT_EQ(kResidentCut, m.state & kResidentCut);
  EXPECT_GE(process.counted_bytes, process.max_bytes);
  EXPECT_LT(process.counted_bytes, process.max_bytes + (uint64_t{1} << 38));
}

}  // namespace
}  // namespace memprof::resident
