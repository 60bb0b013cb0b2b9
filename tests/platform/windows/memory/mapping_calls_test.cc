// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/memory/mapping_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

// "kind first page+pages" of 4 KiB.
std::string text(const MemoryChange& change) {
  const char* const kinds[] = {"none", "fresh", "committed", "gone"};
  EXPECT_EQ(0u, change.start % 4096);
  EXPECT_EQ(0u, change.size_bytes % 4096);
  return std::string(kinds[static_cast<int>(change.kind)]) + " " + std::to_string(change.start >> 12) + "+" +
         std::to_string(change.size_bytes >> 12);
}

TEST(WindowsMappingCalls, ReservedAddressesAreNoMemory) {
  EXPECT_EQ("gone 16+3", text(change_of_allocation(0x10000, 0, 3 << 12, MEM_RESERVE)));
  EXPECT_EQ("fresh 16+3", text(change_of_allocation(0x10000, 0, (2 << 12) + 1, MEM_RESERVE | MEM_COMMIT)));
  // Without an address it reserves, too.
  EXPECT_EQ("fresh 16+1", text(change_of_allocation(0x10000, 0, 1, MEM_COMMIT)));
}

TEST(WindowsMappingCalls, PagesThatAreTouchedAreCommitted) {
  EXPECT_EQ("committed 17+1", text(change_of_allocation(0x11000, 0x11000, 4096, MEM_COMMIT)));
  EXPECT_EQ("committed 17+2", text(change_of_allocation(0x11000, 0x11fff, 2, MEM_COMMIT)));
  // A region begins at a multiple of 64 KiB, and all of it is committed.
  EXPECT_EQ("fresh 16+3", text(change_of_allocation(0x10000, 0x12000, 10, MEM_RESERVE | MEM_COMMIT)));
  EXPECT_EQ("gone 16+3", text(change_of_allocation(0x10000, 0x12000, 10, MEM_RESERVE)));
  // VirtualAlloc2 in a placeholder.
  EXPECT_EQ("fresh 16+16",
            text(change_of_allocation(0x10000, 0x10000, 0x10000, MEM_RESERVE | MEM_COMMIT | 0x4000)));
}

TEST(WindowsMappingCalls, OthersChangeNothing) {
  EXPECT_EQ("none 0+0", text(change_of_allocation(0x10000, 0x10000, 4096, MEM_RESET)));
  EXPECT_EQ("none 0+0", text(change_of_free(0x10000, 4096, 0, 0)));
  // Placeholders that become one had no memory.
  EXPECT_EQ("none 0+0", text(change_of_free(0x10000, 0x20000, MEM_RELEASE | 1, 0)));
}

TEST(WindowsMappingCalls, PartsAndRegionsAreFreed) {
  EXPECT_FALSE(is_of_region(4096, MEM_DECOMMIT));
  EXPECT_TRUE(is_of_region(0, MEM_DECOMMIT));
  EXPECT_TRUE(is_of_region(0, MEM_RELEASE));
  EXPECT_EQ("gone 17+2", text(change_of_free(0x11fff, 2, MEM_DECOMMIT, 0)));
  EXPECT_EQ("gone 16+32", text(change_of_free(0x10000, 0, MEM_RELEASE, 32 << 12)));
  EXPECT_EQ("gone 16+32", text(change_of_free(0x10000, 0, MEM_DECOMMIT, 32 << 12)));
  // A part of a region that becomes a placeholder.
  EXPECT_EQ("gone 32+16", text(change_of_free(0x20000, 0x10000, MEM_RELEASE | 2, 0)));
}

}  // namespace
}  // namespace memprof::platform
