// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/memory/pages.h"

#include <gtest/gtest.h>

#include <string>

#include "platform/files.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

DWORD state_of(const void* address) {
  MEMORY_BASIC_INFORMATION facts{};
  VirtualQuery(address, &facts, sizeof(facts));
  return facts.State;
}

constexpr size_t kPieces = 16;
constexpr size_t kBytes = kPieces * kPieceBytes;

TEST(WindowsPages, AreReservedAndZero) {
  auto* pages = static_cast<char*>(reserve_pages(100000));
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(pages[99999], 0);
  pages[99999] = 1;
  release_pages(pages, 100000);
  EXPECT_EQ(state_of(pages), MEM_FREE);
}

TEST(WindowsPages, OnlyPiecesHaveMemory) {
  const Piece pieces[] = {{0, kPieceBytes}, {4 * kPieceBytes, 2 * kPieceBytes}};
  auto* start = static_cast<char*>(map_pieces(nullptr, kBytes, pieces, 2));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(state_of(start + 6 * kPieceBytes - 1), MEM_COMMIT);
  EXPECT_EQ(state_of(start + 6 * kPieceBytes), MEM_RESERVE);
  EXPECT_FALSE(extend_piece(start + 4 * kPieceBytes, 2 * kPieceBytes, 13 * kPieceBytes, 12 * kPieceBytes));
  start[4 * kPieceBytes] = 7;
  ASSERT_TRUE(extend_piece(start + 4 * kPieceBytes, 2 * kPieceBytes, 12 * kPieceBytes, 12 * kPieceBytes));
  start[kBytes - 1] = 1;
  EXPECT_EQ(start[4 * kPieceBytes], 7);
  unmap_pieces(start, kBytes, pieces, 2);
  EXPECT_EQ(state_of(start), MEM_FREE);
}

TEST(WindowsPages, OfAFileAreReadByOthersAndStay) {
  const std::string path = std::string(arena_folder()) + "/pages" + std::to_string(process_id());
  file_remove(path.c_str());  // of a run that was killed
  const Piece pieces[] = {{0, kPieceBytes}, {4 * kPieceBytes, kPieceBytes}};
  auto* start = static_cast<char*>(map_pieces(path.c_str(), kBytes, pieces, 2));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(map_pieces(path.c_str(), kBytes, pieces, 2), nullptr);
  ASSERT_TRUE(extend_piece(start + 4 * kPieceBytes, kPieceBytes, 2 * kPieceBytes, 12 * kPieceBytes));
  EXPECT_TRUE(commit_pages(start, kPieceBytes));
  start[6 * kPieceBytes - 1] = 'x';
  uint64_t size = 0;
  const int fd = file_open(path.c_str(), &size);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(size, kBytes);
  char byte = 0;
  EXPECT_TRUE(file_read(fd, 6 * kPieceBytes - 1, &byte, 1));
  EXPECT_EQ(byte, 'x');
  unmap_pieces(start, kBytes, pieces, 2);
  EXPECT_TRUE(file_read(fd, 6 * kPieceBytes - 1, &byte, 1));
  EXPECT_EQ(byte, 'x');
  file_close(fd);
  EXPECT_TRUE(file_remove(path.c_str()));
}

TEST(WindowsPages, NearCode) {
  const uint64_t code = address_of(reinterpret_cast<const void*>(&map_near));
  void* const page = map_near(code, code + 1, 4096);
  ASSERT_NE(page, nullptr);
  const auto distance = static_cast<int64_t>(address_of(page) - code);
  EXPECT_LT(distance < 0 ? -distance : distance, int64_t{1} << 31);
}

}  // namespace
}  // namespace memprof::platform
