// SPDX-License-Identifier: Apache-2.0
// find_main_arena(), in processes that are made up; glibc's own are in glibc_heap_test.cc.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "resident/glibc_heap.h"
#include "tests/support/made_up_process.h"

namespace memprof::resident::main_arena_test {
namespace {

using testing_support::MadeUp;

constexpr uint64_t kData = 0x7f0000000000;
constexpr uint64_t kBins = kData + 0x460;

bool is_found(MadeUp* process) {
  std::vector<char> room(kGlibcScratchBytes);
  uint64_t bins = 0;
  return find_main_arena(process->source(), kData, kData + 0x2000, room.data(), &bins) && bins == kBins;
}

TEST(MainArenaTest, TheMainArenaIsFoundByItsLists) {
  MadeUp process;
  process.add_arena(kBins);
  process.put(kData + 16, kData);  // other words that point nearby
  std::vector<char> room(kGlibcScratchBytes);
  uint64_t bins = 0;
  ASSERT_TRUE(find_main_arena(process.source(), kData, kData + 0x2000, room.data(), &bins));
  EXPECT_EQ(kBins, bins);
  EXPECT_EQ(1u, process.reads());
  EXPECT_FALSE(find_main_arena(MadeUp().source(), kData, kData + 0x2000, room.data(), &bins));
  EXPECT_FALSE(find_main_arena(process.source(), kData + 0x2000, kData, room.data(), &bins));
}

// As in a compiler that frees all it has at its end.
TEST(MainArenaTest, ItIsFoundWithMostListsFilled) {
  MadeUp process;
  process.add_arena(kBins);
  for (uint64_t list = 0; list < 120; ++list)
    process.add_chunk(kBins, list, 0x200000 + list * 0x10000, 0x500);
  EXPECT_TRUE(is_found(&process));
  EXPECT_LT(process.reads(), 200u);
}

TEST(MainArenaTest, WhatDoesNotPointBackIsNoList) {
  MadeUp process;
  process.add_arena(kBins);
  for (uint64_t list = 0; list < 120; ++list) {
    process.add_chunk(kBins, list, 0x200000 + list * 0x10000, 0x500);
    process.put(0x200000 + list * 0x10000 + 24, kBins);
  }
  EXPECT_FALSE(is_found(&process));
  EXPECT_LT(process.reads(), 1000u);
}

}  // namespace
}  // namespace memprof::resident::main_arena_test
