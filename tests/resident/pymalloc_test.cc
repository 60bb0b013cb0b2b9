// SPDX-License-Identifier: Apache-2.0
#include "resident/pymalloc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace memprof::resident {
namespace {

constexpr uint64_t kStart = 0x7f0000001000;  // no multiple of a pool

// A mapping of two arenas, of which all is in memory but what was put away.
class Arenas {
 public:
  Arenas() : bytes_(2 << 20) {}
  char* at(uint64_t address) { return &bytes_[address - kStart]; }
  uint64_t limit() const { return kStart + bytes_.size(); }

  void put_pool(uint64_t address, uint32_t size_class, uint32_t count) {
    const uint32_t size = (size_class + 1) * 16;
    const uint32_t words[] = {count,       0, 0, 0, 0, 0, 0, 0, 5, size_class, 48 + size * (count + 1),
                              16384 - size};
    std::memcpy(at(address), words, sizeof(words));
  }

  PoolSums read() {
    const MemorySource source{this,
                              [](void* context, uint64_t address, void* bytes, size_t size) {
                                auto& self = *static_cast<Arenas*>(context);
                                ++self.reads_;
                                EXPECT_EQ(size, self.in_memory(address, address + size));
                                std::memcpy(bytes, self.at(address), size);
                                return true;
                              },
                              [](void* context, Pages, uint64_t start, uint64_t limit) {
                                return static_cast<Arenas*>(context)->in_memory(start, limit);
                              },
                              [](void*, char*, size_t) -> size_t { return 0; },
                              [](void* context) { return static_cast<Arenas*>(context)->has_time_; }};
    return read_pools(source, kStart, limit());
  }

  // Of [start, limit) what does not lie in [away_start_, away_limit_).
  uint64_t in_memory(uint64_t start, uint64_t limit) const {
    const uint64_t first = std::max(start, away_start_);
    const uint64_t last = std::min(limit, away_limit_);
    return limit - start - (first < last ? last - first : 0);
  }

  std::vector<char> bytes_;
  uint64_t away_start_ = 0;
  uint64_t away_limit_ = 0;
  int reads_ = 0;
  bool has_time_ = true;
};

constexpr uint64_t kFirst = (kStart + kPoolBytes - 1) / kPoolBytes * kPoolBytes;

TEST(Pymalloc, PoolsAreFoundAndCounted) {
  Arenas arenas;
  for (uint64_t i = 0; i < 10; ++i)
    arenas.put_pool(kFirst + i * kPoolBytes, 3, 100);  // 100 blocks of 64 bytes
  arenas.put_pool(kFirst + 20 * kPoolBytes, 31, 0);    // all free again
  const PoolSums sums = arenas.read();
  EXPECT_EQ(11 * kPoolBytes, sums.resident_bytes);
  EXPECT_EQ(11 * (kPoolBytes - 48) - 10 * 6400, sums.free_bytes);
}

// The snapshot that looks reserves much: to read it would bring its pages into memory.
TEST(Pymalloc, WhatIsNotInMemoryIsNotRead) {
  Arenas arenas;
  for (uint64_t i = 0; i < 100; ++i) arenas.put_pool(kFirst + i * kPoolBytes, 3, 100);
  arenas.away_start_ = kFirst + 10 * kPoolBytes;
  arenas.away_limit_ = kFirst + 90 * kPoolBytes;
  PoolSums sums = arenas.read();
  EXPECT_EQ(20 * kPoolBytes, sums.resident_bytes);
  EXPECT_EQ(20 * (kPoolBytes - 48 - 6400), sums.free_bytes);
  EXPECT_LE(arenas.reads_, 47);  // the mapping has 127 places
  // The end of a pool away, its header in memory.
  arenas.away_start_ = kFirst + 5 * kPoolBytes + 8192;
  arenas.away_limit_ = kFirst + 6 * kPoolBytes;
  sums = arenas.read();
  EXPECT_EQ(99 * kPoolBytes + 8192, sums.resident_bytes);
}

TEST(Pymalloc, OtherMemoryHasNone) {
  Arenas arenas;
  EXPECT_EQ(0u, arenas.read().resident_bytes);
  std::mt19937 random(3);
  for (char& byte : arenas.bytes_) byte = static_cast<char>(random());
  EXPECT_EQ(0u, arenas.read().resident_bytes);
  // A count that its blocks do not have room for, and a class that there is not.
  std::fill(arenas.bytes_.begin(), arenas.bytes_.end(), 0);
  arenas.put_pool(kFirst, 3, 100);
  const uint32_t count = 200;
  std::memcpy(arenas.at(kFirst), &count, sizeof(count));
  arenas.put_pool(kFirst + kPoolBytes, 32, 1);
  EXPECT_EQ(0u, arenas.read().resident_bytes);
}

TEST(Pymalloc, WithoutTimeItSaysSo) {
  Arenas arenas;
  arenas.put_pool(kFirst, 3, 100);
  EXPECT_FALSE(arenas.read().is_cut);
  arenas.has_time_ = false;
  const PoolSums pools = arenas.read();
  EXPECT_TRUE(pools.is_cut);
  EXPECT_EQ(0u, pools.resident_bytes);
}

}  // namespace
}  // namespace memprof::resident
