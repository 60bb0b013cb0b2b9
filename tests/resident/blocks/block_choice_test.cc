// SPDX-License-Identifier: Apache-2.0
#include "resident/blocks/block_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace memprof::resident {
namespace {

constexpr size_t kMany = 800'000;

// Pairs of one of 26 and one of 40 bytes, as vim has them for each line; from high addresses to low ones.
Block pair_at(const void*, size_t i) {
  const uint64_t size = i % 2 == 0 ? 26 : 40;
  return {(kMany - i) * 48, size, static_cast<double>(size), 1, nullptr};
}

Block large_at(const void*, size_t i) {
  return {i << 20, kLargeBlockBytes, 1, 1, nullptr};
}

bool always() {
  return true;
}

BlockChoice choose(const BlockList& blocks, std::vector<Block>* room, bool (*may_go_on)() = always) {
  room->resize(kMaxChosen);
  return choose_blocks(blocks, room->data(), may_go_on);
}

TEST(BlockChoiceTest, OfManyTheSameShareOfEachKindFromAllOver) {
  std::vector<Block> room;
  const BlockChoice choice = choose({kMany, pair_at, nullptr}, &room);
  EXPECT_DOUBLE_EQ(kMany / 2 * 66.0, choice.small_live) << "of all";
  EXPECT_LE(choice.small_count, kMaxSmallChosen);
  EXPECT_GT(choice.small_count, kMaxSmallChosen * 9 / 10);
  EXPECT_TRUE(choice.is_whole);
  const auto begin = room.begin() + kMaxLargeChosen;
  const auto end = begin + static_cast<ptrdiff_t>(choice.small_count);
  EXPECT_TRUE(std::is_sorted(begin, end, [](auto& a, auto& b) { return a.address < b.address; }));
  const auto short_ones = std::count_if(begin, end, [](auto& b) { return b.size_bytes == 26; });
  EXPECT_NEAR(0.5, static_cast<double>(short_ones) / static_cast<double>(choice.small_count), 0.02);
  EXPECT_LT(begin->address, kMany * 48 / 1000);
  EXPECT_GT((end - 1)->address, kMany * 48 / 1000 * 999);
}

// Every second one: a step that the program has too would meet one kind only.
TEST(BlockChoiceTest, AStepThatTheProgramHasTooMeetsBothKinds) {
  std::vector<Block> room;
  const BlockChoice choice = choose({kMaxSmallChosen * 2, pair_at, nullptr}, &room);
  const auto begin = room.begin() + kMaxLargeChosen;
  const auto short_ones = std::count_if(begin, begin + static_cast<ptrdiff_t>(choice.small_count),
                                        [](auto& b) { return b.size_bytes == 26; });
  EXPECT_EQ(kMaxSmallChosen, choice.small_count);
  EXPECT_NEAR(0.5, static_cast<double>(short_ones) / kMaxSmallChosen, 0.02);
}

TEST(BlockChoiceTest, AllWhereThereIsRoom) {
  std::vector<Block> room;
  EXPECT_EQ(kMaxSmallChosen, choose({kMaxSmallChosen, pair_at, nullptr}, &room).small_count);
  const BlockChoice large = choose({kMaxLargeChosen, large_at, nullptr}, &room);
  EXPECT_EQ(kMaxLargeChosen, large.large_count);
  EXPECT_DOUBLE_EQ(kMaxLargeChosen, large.large_live);
  EXPECT_EQ(0u, large.small_count);
  EXPECT_LE(choose({kMaxLargeChosen + 1, large_at, nullptr}, &room).large_count, kMaxLargeChosen);
  EXPECT_EQ(0u, choose({}, &room).small_count);
}

TEST(BlockChoiceTest, WhereTheTimeIsOverTheWeightsAreStillOfAll) {
  std::vector<Block> room;
  const BlockChoice choice = choose({kMany, pair_at, nullptr}, &room, [] { return false; });
  EXPECT_FALSE(choice.is_whole);
  EXPECT_GT(choice.small_count, 0u);
  EXPECT_LT(choice.small_count, kMaxSmallChosen / 2);
  EXPECT_DOUBLE_EQ(kMany / 2 * 66.0, choice.small_live);
}

}  // namespace
}  // namespace memprof::resident
