// SPDX-License-Identifier: Apache-2.0
#include "resident/boehm_heap.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace memprof::resident::boehm_heap_test {
namespace {

constexpr uint64_t kData = 0x10000;     // the library's data and what follows it
constexpr uint64_t kHeap = 0x7f000000;  // 16 MiB of anonymous memory
constexpr uint64_t kScratch = 0x7e000000;

class BoehmHeapTest : public testing::Test {
 protected:
  BoehmHeapTest() {
    add(kData, kData + 0x1000, "/usr/lib/libgc.so.1.5.1");
    add(kData + 0x1000, kData + 0x3000, "");
    add(kScratch, kScratch + 0x2000, "");
    add(kHeap, kHeap + (16 << 20), "");
    put(kData + 0x20, 4242);  // some of its settings
    put(kData + 0x30, kScratch + 8);
  }

  void add(uint64_t start, uint64_t limit, const char* name) {
    Mapping m;
    m.start = start;
    m.limit = limit;
    m.is_readable = m.is_writable = true;
    m.inode = name[0] != '\0' ? 7 : 0;
    m.name = name;
    m.has_resident = true;
    m.resident_bytes = limit - start;
    mappings_.add(m);
  }
  void put(uint64_t address, uint64_t word) { words_[address] = word; }
  // The sections as the collector has them, and their sum.
  void put_heap(uint64_t sum_at, uint64_t list) {
    put(sum_at, 0x50000);
    put(list, kHeap);
    put(list + 8, 0x10000);
    put(list + 16, kHeap + 0x100000);
    put(list + 24, 0x40000);
  }

  MemorySource source() {
    MemorySource source;
    source.context = this;
    source.read = [](void* context, uint64_t address, void* bytes, size_t size) {
      auto* const self = static_cast<BoehmHeapTest*>(context);
      for (size_t i = 0; i < size / 8; ++i) {
        const auto found = self->words_.find(address + 8 * i);
        static_cast<uint64_t*>(bytes)[i] = found != self->words_.end() ? found->second : 0;
      }
      return self->mappings_.find(address) != nullptr;
    };
    source.in_memory = [](void*, Pages, uint64_t start, uint64_t limit) {
      const uint64_t absent_from = kHeap + 0x120000;  // half of the second section was never touched
      return limit > absent_from && start < absent_from + 0x20000 ? limit - start - 0x20000 : limit - start;
    };
    source.has_time = [](void*) { return true; };
    return source;
  }
  BoehmHeap find() {
    std::vector<uint64_t> room(4096);
    return find_boehm_heap(source(), mappings_, kData, kData + 0x3000, room.data(), room.size() * 8);
  }
  uint64_t take_out() {
    std::vector<uint64_t> room(4096);
    return take_out_boehm_heap(source(), mappings_, room.data(), room.size() * 8);
  }

  std::array<MappingEntry, 16> entries_;
  MappingList mappings_{entries_.data(), entries_.size()};
  std::map<uint64_t, uint64_t> words_;
};

TEST_F(BoehmHeapTest, ItsSectionsStandInItsData) {
  put_heap(kData + 0x900, kData + 0x1800);
  const BoehmHeap heap = find();
  EXPECT_EQ(kData + 0x1800, heap.list);
  EXPECT_EQ(2u, heap.sections);
}

TEST_F(BoehmHeapTest, OrBehindAPointerThere) {
  put(kData + 0x1010, kScratch + 0x800);
  put_heap(kData + 0x900, kScratch + 0x800);
  const BoehmHeap heap = find();
  EXPECT_EQ(kScratch + 0x800, heap.list);
  EXPECT_EQ(2u, heap.sections);
}

// Any other list of places and sizes.
TEST_F(BoehmHeapTest, WithoutTheirSumItIsNone) {
  put_heap(kData + 0x900, kData + 0x1800);
  put(kData + 0x900, 0x50000 + 0x1000);
  EXPECT_EQ(0u, find().sections);
  put(kData + 0x900, 0);
  put(kData + 0x2000, 0x50000);  // behind the list
  EXPECT_EQ(0u, find().sections);
}

TEST_F(BoehmHeapTest, SectionsLieInAnonymousMemory) {
  put_heap(kData + 0x900, kData + 0x1800);
  put(kData + 0x1800, kData);  // the library's
  EXPECT_EQ(0u, find().sections);
  put(kData + 0x1800, kHeap + (32 << 20));  // nobody's
  EXPECT_EQ(0u, find().sections);
}

TEST_F(BoehmHeapTest, WhatIsInMemoryOfItIsTakenOutOfItsMapping) {
  EXPECT_EQ(0u, take_out());
  put_heap(kData + 0x900, kData + 0x1800);
  EXPECT_EQ(0x30000u, take_out());
  EXPECT_EQ((16u << 20) - 0x30000, mappings_.find(kHeap)->resident_bytes);
  EXPECT_EQ(0x2000u, mappings_.find(kScratch)->resident_bytes);
}

TEST_F(BoehmHeapTest, AnotherRuntimeHasAllOfThem) {
  add(0x80000000, 0x80001000, "/usr/lib/libjvm.so");
  put_heap(kData + 0x900, kData + 0x1800);
  EXPECT_EQ(0u, take_out());
}

}  // namespace
}  // namespace memprof::resident::boehm_heap_test
