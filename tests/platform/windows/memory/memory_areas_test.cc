// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_areas.h"

#include <gtest/gtest.h>

#include <cstring>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

TEST(WindowsMemoryAreas, PagesThatWereTouchedAreResident) {
  constexpr size_t kBytes = size_t{8} << 20;
  constexpr size_t kPage = 4096;
  auto* start = static_cast<char*>(VirtualAlloc(nullptr, kBytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  ASSERT_NE(nullptr, start);
  const uint64_t from = address_of(start);
  EXPECT_EQ(0u, resident_bytes_in(from, from + kBytes));
  memset(start + 100 * kPage, 1, 1000 * kPage);
  SetLastError(99);
  EXPECT_EQ(1000 * kPage, resident_bytes_in(from, from + kBytes));
  EXPECT_EQ(10 * kPage, resident_bytes_in(from + 90 * kPage, from + 110 * kPage));
  EXPECT_EQ(99u, GetLastError());
  VirtualFree(start, 0, MEM_RELEASE);
  EXPECT_EQ(0u, resident_bytes_in(from, from + kBytes));
  EXPECT_TRUE(counts_without_areas());
  EXPECT_FALSE(each_memory_area([](const MemoryArea&, void*) { FAIL(); }, nullptr));
}

}  // namespace
}  // namespace memprof::platform
