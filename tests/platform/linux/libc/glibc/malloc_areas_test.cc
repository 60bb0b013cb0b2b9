// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/libc/malloc_areas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace memprof::malloc_areas_test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeap = uint64_t{64} << 20;

// As glibc leaves its marks; the tests' own malloc may be a sanitizer's.
class MallocAreas : public ::testing::Test {
 protected:
  MallocAreas()
      : memory_(mmap(nullptr, 2 * kHeap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0)),
        heap_((reinterpret_cast<uint64_t>(memory_) + kHeap - 1) / kHeap * kHeap) {}
  ~MallocAreas() override { munmap(memory_, 2 * kHeap); }

  void write(uint64_t at, std::initializer_list<uint64_t> words) {
    for (const uint64_t word : words) {
      memcpy(reinterpret_cast<void*>(at), &word, sizeof(word));
      at += sizeof(word);
    }
  }

  void* const memory_;
  const uint64_t heap_;
};

TEST_F(MallocAreas, AnArenasHeap) {
  ASSERT_NE(MAP_FAILED, memory_);
  write(heap_, {heap_ + 0x30, 0, 33 * kPage, 33 * kPage});
  EXPECT_EQ(heap_ + 33 * kPage, platform::end_of_malloc_area(heap_));
  write(heap_, {heap_ + 0x30, 0, 33 * kPage, 40 * kPage});
  EXPECT_EQ(heap_ + 40 * kPage, platform::end_of_malloc_area(heap_));
  // A later heap of an arena that is elsewhere.
  write(heap_, {heap_ - kHeap + 0x30, heap_ - kHeap, 33 * kPage, 33 * kPage});
  EXPECT_EQ(heap_ + 33 * kPage, platform::end_of_malloc_area(heap_));
}

TEST_F(MallocAreas, WhatIsNoHeap) {
  EXPECT_EQ(0u, platform::end_of_malloc_area(heap_));  // zeros
  write(heap_, {heap_ + 0x30, 0, 33 * kPage, 33 * kPage + 1});
  EXPECT_EQ(0u, platform::end_of_malloc_area(heap_)) << "no whole pages";
  write(heap_, {heap_ + 0x30, 0, 2 * kHeap, 2 * kHeap});
  EXPECT_EQ(0u, platform::end_of_malloc_area(heap_)) << "larger than a heap";
  write(heap_, {12345, 0, 33 * kPage, 33 * kPage});
  EXPECT_EQ(0u, platform::end_of_malloc_area(heap_)) << "the arena is not in it";
}

TEST_F(MallocAreas, ABlockWithAMappingOfItsOwn) {
  const uint64_t at = heap_ + 3 * kPage;
  write(at, {0, 300 * kPage | 2});
  EXPECT_EQ(at + 300 * kPage, platform::end_of_malloc_area(at));
  write(at, {0, 300 * kPage});
  EXPECT_EQ(0u, platform::end_of_malloc_area(at)) << "not marked";
  write(at, {0, 300 * kPage | 6});
  EXPECT_EQ(0u, platform::end_of_malloc_area(at)) << "of an arena, too";
  write(at, {8, 300 * kPage | 2});
  EXPECT_EQ(0u, platform::end_of_malloc_area(at));
  write(at, {0, (300 * kPage + 16) | 2});
  EXPECT_EQ(0u, platform::end_of_malloc_area(at)) << "no whole pages";
  write(at, {0, ~uint64_t{0} / kPage * kPage | 2});
  EXPECT_EQ(0u, platform::end_of_malloc_area(at)) << "larger than memory";
}

TEST_F(MallocAreas, WhatCannotBeReadIsNone) {
  ASSERT_EQ(0, mprotect(reinterpret_cast<void*>(heap_), kPage, PROT_NONE));
  EXPECT_EQ(0u, platform::end_of_malloc_area(heap_));
}

}  // namespace
}  // namespace memprof::malloc_areas_test
