// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/near_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace memprof::platform {
namespace {

constexpr uint64_t kReach = uint64_t{1} << 31;

uint64_t distance(const void* pages, uint64_t address) {
  const auto at = reinterpret_cast<uint64_t>(pages);
  return at > address ? at - address : address - at;
}

TEST(NearPages, AreNearAndWritable) {
  const auto here = reinterpret_cast<uint64_t>(&memset);
  const auto own = reinterpret_cast<uint64_t>(&kReach);
  for (const uint64_t address : {here, own}) {
    void* pages = map_near(address, address + 100, 3 * 4096);
    ASSERT_NE(pages, nullptr);
    EXPECT_LT(distance(pages, address) + 3 * 4096, kReach);
    memset(pages, 1, size_t{3} * 4096);
    EXPECT_EQ(munmap(pages, 3 * 4096), 0);
  }
}

TEST(NearPages, NotWhereThereIsNoPlaceForBoth) {
  const auto here = reinterpret_cast<uint64_t>(&memset);
  EXPECT_EQ(map_near(here, here + 3 * kReach, 4096), nullptr);
}

}  // namespace
}  // namespace memprof::platform
