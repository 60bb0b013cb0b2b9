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

// A mapping of two arenas, all of it in memory.
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
                                std::memcpy(bytes, static_cast<Arenas*>(context)->at(address), size);
                                return true;
                              },
                              [](void*, Pages, uint64_t start, uint64_t limit) { return limit - start; },
                              [](void*, char*, size_t) -> size_t { return 0; }, [](void*) { return true; }};
    return read_pools(source, kStart, limit());
  }

  std::vector<char> bytes_;
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

}  // namespace
}  // namespace memprof::resident
