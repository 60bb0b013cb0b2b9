// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_areas.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "platform/linux/memory/own_pages.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "tests/support/engine.h"

namespace memprof::memory_areas_test {
namespace {

using platform::MemoryArea;

constexpr uint64_t kPage = 4096;

std::vector<MemoryArea> all_areas() {
  static std::vector<MemoryArea> areas;
  areas.clear();
  areas.reserve(100000);  // nothing is mapped while the list is read
  EXPECT_TRUE(
      platform::each_memory_area([](const MemoryArea& area, void*) { areas.push_back(area); }, nullptr));
  return areas;
}

const MemoryArea* area_at(const std::vector<MemoryArea>& areas, const void* address) {
  const auto at = reinterpret_cast<uint64_t>(address);
  for (const MemoryArea& area : areas) {
    if (area.start <= at && at < area.limit) {
      return &area;
    }
  }
  return nullptr;
}

TEST(MemoryAreas, AreInOrderWithWhatIsResident) {
  char* const p = static_cast<char*>(
      mmap(nullptr, 100 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(p));
  madvise(p, 100 * kPage, MADV_NOHUGEPAGE);
  // An area of its own, between two that cannot be read.
  ASSERT_EQ(0, mprotect(p, 10 * kPage, PROT_NONE));
  ASSERT_EQ(0, mprotect(p + 90 * kPage, 10 * kPage, PROT_NONE));
  memset(p + 20 * kPage, 1, 7 * kPage);
  errno = 77;
  const std::vector<MemoryArea> areas = all_areas();
  EXPECT_EQ(77, errno);
  for (size_t i = 1; i < areas.size(); ++i) {
    EXPECT_LE(areas[i - 1].limit, areas[i].start);
  }
  const MemoryArea* const area = area_at(areas, p + 20 * kPage);
  ASSERT_NE(nullptr, area);
  EXPECT_EQ(reinterpret_cast<uint64_t>(p) + 10 * kPage, area->start);
  EXPECT_EQ(reinterpret_cast<uint64_t>(p) + 90 * kPage, area->limit);
  EXPECT_EQ(7 * kPage, area->resident_bytes);
  EXPECT_EQ(7 * kPage, area->anonymous_bytes);
  EXPECT_FALSE(area->is_file);
  EXPECT_TRUE(area->is_writable);
  EXPECT_TRUE(area->follows_guard);
  EXPECT_EQ(7 * kPage, platform::resident_bytes_in(area->start, area->limit));
  EXPECT_EQ(2 * kPage, platform::resident_bytes_in(area->start + 15 * kPage, area->limit));
  EXPECT_EQ(0u, platform::resident_bytes_in(area->start + 17 * kPage, area->limit));
  munmap(p, 100 * kPage);
}

TEST(MemoryAreas, WhoseTheyAre) {
  uint64_t end = 0;
  void* const own =
      platform::map_own(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(own, 1, 4 * kPage);
  int on_stack = 0;
  const std::vector<MemoryArea> areas = all_areas();
  const MemoryArea* area = area_at(areas, own);
  ASSERT_NE(nullptr, area);
  const auto start = reinterpret_cast<uint64_t>(own);
  EXPECT_EQ(MemoryPart::kOwn, platform::holder_of(*area, start, area->limit, &end));
  EXPECT_EQ(std::min(start + 4 * kPage, area->limit), end);
  platform::unmap_own(own, 4 * kPage);

  area = area_at(areas, &on_stack);  // of the first thread
  ASSERT_NE(nullptr, area);
  EXPECT_EQ(MemoryPart::kStacks, platform::holder_of(*area, area->start, area->limit, &end));
  EXPECT_EQ(area->limit, end);
  static int in_data = 1;
  area = area_at(areas, &in_data);
  ASSERT_NE(nullptr, area);
  EXPECT_EQ(MemoryPart::kModules, platform::holder_of(*area, area->start, area->limit, &end));
}

alignas(kPage) char g_zeros[64 * kPage];

// The data of a module is one area in the file and one behind it; an advice for a part of that makes three of it.
TEST(MemoryAreas, DataOfAModuleGoesOnBehindAPartOfOurOwn) {
  memset(g_zeros, 1, sizeof(g_zeros));
  platform::advise_sparse(g_zeros + 16 * kPage, 16 * kPage);
  const std::vector<MemoryArea> areas = all_areas();
  const auto holder = [&areas](const char* at) {
    const MemoryArea* const area = area_at(areas, at);
    uint64_t end = 0;
    return area != nullptr ? platform::holder_of(*area, reinterpret_cast<uint64_t>(at), area->limit, &end)
                           : MemoryPart::kUnseen;
  };
  EXPECT_NE(area_at(areas, g_zeros), area_at(areas, g_zeros + 16 * kPage));
  EXPECT_NE(area_at(areas, g_zeros + 16 * kPage), area_at(areas, g_zeros + 40 * kPage));
  EXPECT_EQ(MemoryPart::kModules, holder(g_zeros));
  EXPECT_EQ(MemoryPart::kOwn, holder(g_zeros + 16 * kPage));
  EXPECT_EQ(MemoryPart::kModules, holder(g_zeros + 40 * kPage));
}

void* look_for_stack(void* found) {
  int on_stack = 0;
  const std::vector<MemoryArea> areas = all_areas();
  const MemoryArea* const area = area_at(areas, &on_stack);
  uint64_t end = 0;
  *static_cast<bool*>(found) =
      area != nullptr && platform::holder_of(*area, area->start, area->limit, &end) == MemoryPart::kStacks;
  return nullptr;
}

TEST(MemoryAreas, AThreadsStackFollowsItsGuard) {
  bool found = false;
  pthread_t thread;
  ASSERT_EQ(0, pthread_create(&thread, nullptr, look_for_stack, &found));
  pthread_join(thread, nullptr);
  EXPECT_TRUE(found);
}

TEST(MemoryAreas, ASandboxIsAskedNothing) {
  platform::set_sandboxed(true);
  EXPECT_FALSE(platform::each_memory_area([](const MemoryArea&, void*) { FAIL(); }, nullptr));
  platform::set_sandboxed(false);
}

}  // namespace
}  // namespace memprof::memory_areas_test
