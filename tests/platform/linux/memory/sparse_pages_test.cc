// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/sparse_pages.h"

#include "platform/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "tests/support/engine.h"

namespace memprof::sparse_pages_test {
namespace {

using platform::kPieceBytes;
using platform::Piece;
using testing_support::in_child;
using testing_support::kSanitized;

constexpr size_t kWhole = 256 * kPieceBytes;
constexpr Piece kPieces[] = {
    {0, kPieceBytes}, {8 * kPieceBytes, kPieceBytes}, {128 * kPieceBytes, 2 * kPieceBytes}};
constexpr uint32_t kCount = 3;

bool is_mapped(const uint8_t* page) {
  return msync(const_cast<uint8_t*>(page), kPieceBytes, MS_ASYNC) == 0;
}

// In memory, and in a file.
class SparsePages : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    folder_ = std::string("/tmp/memprof-test-XXXXXX");
    ASSERT_NE(nullptr, mkdtemp(folder_.data()));
    path_ = folder_ + "/a.arena";
    start_ = static_cast<uint8_t*>(
        platform::map_pieces(GetParam() ? path_.c_str() : nullptr, kWhole, kPieces, kCount));
    ASSERT_NE(nullptr, start_);
  }
  void TearDown() override {
    platform::unmap_pieces(start_, kWhole, kPieces, kCount);
    munmap(start_, kWhole);
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  std::string path_;
  uint8_t* start_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(In, SparsePages, ::testing::Bool(),
                         [](const auto& in) { return std::string(in.param ? "AFile" : "Memory"); });

TEST_P(SparsePages, OnlyThePiecesAreMapped) {
  for (const Piece& piece : kPieces) {
    EXPECT_TRUE(is_mapped(start_ + piece.offset));
    EXPECT_EQ(0, start_[piece.offset]);
    start_[piece.offset] = 1;
    EXPECT_FALSE(is_mapped(start_ + piece.offset + piece.size_bytes));
  }
  platform::unmap_pieces(start_, kWhole, kPieces, kCount);
  for (size_t offset = 0; offset <= kWhole; offset += kPieceBytes) {
    EXPECT_FALSE(is_mapped(start_ + offset));
  }
}

TEST_P(SparsePages, APieceGrowsUpToTheNextAndKeepsWhatIsInIt) {
  size_t size = kPieceBytes;
  start_[0] = 42;
  const size_t room = kPieces[1].offset;
  start_[room] = 43;
  while (size < room) {
    ASSERT_TRUE(platform::extend_piece(start_, size, size + kPieceBytes, room));
    // Who comes later is told that it is there.
    ASSERT_TRUE(platform::extend_piece(start_, size, size + kPieceBytes, room));
    EXPECT_EQ(0, start_[size]);
    start_[size] = 1;
    size += kPieceBytes;
  }
  EXPECT_EQ(42, start_[0]);
  EXPECT_EQ(43, start_[room]);
  // The last one, up to the end.
  uint8_t* const last = start_ + kPieces[2].offset;
  ASSERT_TRUE(platform::extend_piece(last, 2 * kPieceBytes, 128 * kPieceBytes, 128 * kPieceBytes));
  memset(last, 5, 128 * kPieceBytes);
}

TEST_P(SparsePages, WhatOthersMappedIsNotTakenForOurs) {
  uint8_t* const place = start_ + kPieceBytes;
  ASSERT_EQ(place,
            mmap(place, kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  EXPECT_FALSE(platform::extend_piece(start_, kPieceBytes, 2 * kPieceBytes, kPieces[1].offset));
  ASSERT_EQ(0, munmap(place, kPieceBytes));
  EXPECT_TRUE(platform::extend_piece(start_, kPieceBytes, 2 * kPieceBytes, kPieces[1].offset));
}

TEST_P(SparsePages, ALimitIsARefusal) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer takes the address space";
  }
  in_child([&] {
    const rlimit none{1, 1};
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
    EXPECT_FALSE(platform::extend_piece(start_, kPieceBytes, 2 * kPieceBytes, kPieces[1].offset));
    EXPECT_FALSE(platform::has_address_space(kPieceBytes));
    EXPECT_EQ(1u, platform::address_space_limit());
    EXPECT_EQ(nullptr, platform::map_pieces(nullptr, kWhole, kPieces, kCount));
  });
}

// As of a process that was forked by one that was forked by one ...: their ranges are still there.
TEST(SparsePagesPlace, ManyHaveRoomToGrow) {
  constexpr size_t kLarge = size_t{1} << 30;
  constexpr int kRanges = 20;
  const Piece piece{0, kPieceBytes};
  void* starts[kRanges];
  for (void*& start : starts) {
    start = platform::map_pieces(nullptr, kLarge, &piece, 1);
    ASSERT_NE(nullptr, start);
    // What the kernel gives next moves a little: the ranges would overlap without meeting in a piece.
    ASSERT_NE(MAP_FAILED, mmap(nullptr, 4 * kPieceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  const Piece whole{0, kLarge};
  for (void* start : starts) {
    EXPECT_TRUE(platform::extend_piece(start, kPieceBytes, kLarge, kLarge));
  }
  for (void* start : starts) {
    platform::unmap_pieces(start, kLarge, &whole, 1);
  }
}

TEST(SparsePagesPlace, IsNotWhereTheNextMappingsCome) {
  constexpr size_t kLarge = size_t{1} << 30;
  const Piece piece{0, kPieceBytes};
  void* const start = platform::map_pieces(nullptr, kLarge, &piece, 1);
  ASSERT_NE(nullptr, start);
  void* others[64];
  for (void*& other : others) {
    other = mmap(nullptr, size_t{256} << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(MAP_FAILED, other);
  }
  EXPECT_TRUE(platform::extend_piece(start, kPieceBytes, kLarge, kLarge));
  for (void* other : others) {
    munmap(other, size_t{256} << 20);
  }
  const Piece whole{0, kLarge};
  platform::unmap_pieces(start, kLarge, &whole, 1);
}

}  // namespace
}  // namespace memprof::sparse_pages_test
