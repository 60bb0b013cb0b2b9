// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/own_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

namespace memprof::own_pages_test {
namespace {

constexpr size_t kPage = 4096;

TEST(OwnPages, AreKnownWhileTheyAreMapped) {
  // Between pages that are not: the kernel likes to put it beside what another test has left.
  auto* const room =
      static_cast<char*>(mmap(nullptr, 12 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(room));
  void* const p = platform::map_own(room + 4 * kPage, 4 * kPage, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_NE(MAP_FAILED, p);
  static_cast<char*>(p)[4 * kPage - 1] = 1;
  const auto start = reinterpret_cast<uint64_t>(p);
  uint64_t limit = 0;
  EXPECT_TRUE(platform::is_own(start, &limit));
  EXPECT_EQ(start + 4 * kPage, limit);
  EXPECT_TRUE(platform::is_own(start + kPage, &limit));
  EXPECT_FALSE(platform::is_own(start + 4 * kPage, &limit));
  EXPECT_FALSE(platform::is_own(start - 1, &limit));
  EXPECT_EQ(start, platform::next_own(start - 1, start + 1));
  EXPECT_EQ(start - 1, platform::next_own(start - 8, start - 1));
  platform::note_own(p, 6 * kPage);
  EXPECT_TRUE(platform::is_own(start + 5 * kPage, &limit));
  platform::note_own(p, 4 * kPage);
  EXPECT_EQ(0, platform::unmap_own(p, 4 * kPage));
  EXPECT_FALSE(platform::is_own(start, &limit));
  munmap(room, 12 * kPage);
}

TEST(OwnPages, FailuresAreTheSystems) {
  errno = 0;
  EXPECT_EQ(MAP_FAILED, platform::map_own(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_EQ(EINVAL, errno);
  errno = 0;
  EXPECT_EQ(-1, platform::unmap_own(reinterpret_cast<void*>(1), kPage));
  EXPECT_EQ(EINVAL, errno);
}

// More than there is room for notes: all are mapped.
TEST(OwnPages, ManyMoreThanNotes) {
  void* pages[300];
  for (void*& p : pages) {
    p = platform::map_own(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, p);
  }
  for (void* p : pages) {
    EXPECT_EQ(0, platform::unmap_own(p, kPage));
  }
}

}  // namespace
}  // namespace memprof::own_pages_test
