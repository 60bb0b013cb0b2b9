// SPDX-License-Identifier: Apache-2.0
#include "platform/memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace memprof::reference_memory_test {
namespace {

constexpr platform::Piece kPieces[] = {{0, platform::kPieceBytes},
                                       {4 * platform::kPieceBytes, platform::kPieceBytes}};
constexpr size_t kSizeBytes = 8 * platform::kPieceBytes;

TEST(ReferenceMemory, APieceGrowsUpToTheNextAndKeepsWhatIsInIt) {
  auto* start = static_cast<uint8_t*>(platform::map_pieces(nullptr, kSizeBytes, kPieces, 2));
  ASSERT_NE(nullptr, start);
  memset(start, 7, platform::kPieceBytes);
  const size_t room = kPieces[1].offset;
  EXPECT_TRUE(platform::extend_piece(start, platform::kPieceBytes, room, room));
  EXPECT_TRUE(platform::extend_piece(start, platform::kPieceBytes, room, room));  // another thread was faster
  EXPECT_FALSE(platform::extend_piece(start, room, room + platform::kPieceBytes, room));
  EXPECT_TRUE(platform::commit_pages(start, room));
  EXPECT_EQ(7, start[platform::kPieceBytes - 1]);
  EXPECT_EQ(0, start[room - 1]);
  start[kSizeBytes - 1] = 1;
  platform::unmap_pieces(start, kSizeBytes, kPieces, 2);
}

TEST(ReferenceMemory, WhatItDoesNotHaveIsRefused) {
  EXPECT_EQ(nullptr, platform::map_pieces("/tmp/arena", kSizeBytes, kPieces, 2));
  const uint64_t there = 1;
  uint64_t copy = 0;
  EXPECT_FALSE(platform::read_memory(reinterpret_cast<uint64_t>(&there), &copy, sizeof(copy)));
  uint64_t max = 1;
  EXPECT_EQ(0u, platform::resident_bytes(&max));
  EXPECT_EQ(0u, max);
  EXPECT_EQ(UINT64_MAX, platform::address_space_limit());
  EXPECT_TRUE(platform::has_address_space(kSizeBytes));
}

}  // namespace
}  // namespace memprof::reference_memory_test
