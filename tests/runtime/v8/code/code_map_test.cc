// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace memprof::v8::code_map_test {
namespace {

// Too large for a stack; zeroed, as pages are.
std::unique_ptr<CodeMap> make() {
  return std::make_unique<CodeMap>();
}

// Whoever overlaps goes.
void put(CodeMap* map, const Code& code) {
  Code old{};
  while (map->take_overlapping(code.start, code.limit(), &old)) {
  }
  ASSERT_TRUE(map->insert(code));
}

TEST(CodeMap, FindsTheRangeAndNothingBesideIt) {
  const auto map = make();
  EXPECT_EQ(nullptr, map->find(0x1000));
  put(map.get(), {0x1000, 0x20, 1});
  put(map.get(), {0x1040, 0x10, 2});
  EXPECT_EQ(nullptr, map->find(0xfff));
  EXPECT_EQ(1u, map->find(0x1000)->record);
  EXPECT_EQ(1u, map->find(0x101f)->record);
  EXPECT_EQ(nullptr, map->find(0x1020));
  EXPECT_EQ(2u, map->find(0x1040)->record);
  EXPECT_EQ(nullptr, map->find(0x1050));
  EXPECT_EQ(nullptr, map->find(UINT64_MAX));
}

TEST(CodeMap, TakesWhatOverlaps) {
  const auto map = make();
  put(map.get(), {0x1000, 0x20, 1});
  put(map.get(), {0x1020, 0x20, 2});
  put(map.get(), {0x1040, 0x20, 3});
  Code old{};
  EXPECT_FALSE(map->take_overlapping(0x1060, 0x1080, &old));
  EXPECT_FALSE(map->take_overlapping(0x0f00, 0x1000, &old));
  put(map.get(), {0x1010, 0x31, 4});
  EXPECT_EQ(nullptr, map->find(0x100f));
  EXPECT_EQ(4u, map->find(0x1040)->record);
  EXPECT_EQ(nullptr, map->find(0x1041));
}

TEST(CodeMap, TakesByStartAlone) {
  const auto map = make();
  put(map.get(), {0x1000, 0x20, 1});
  Code taken{};
  EXPECT_FALSE(map->take(0x1001, &taken));
  EXPECT_TRUE(map->take(0x1000, &taken));
  EXPECT_EQ(1u, taken.record);
  EXPECT_FALSE(map->take(0x1000, &taken));
  EXPECT_EQ(nullptr, map->find(0x1000));
}

// Fixed seed: the same 60,000 steps each time, against a std::map.
TEST(CodeMap, IsAsAnOrderedMapAfterManyChanges) {
  const auto map = make();
  std::map<uint64_t, Code> truth;
  std::mt19937_64 random(20231123);
  for (uint32_t step = 0; step < 60'000; ++step) {
    const uint64_t start = random() % (1u << 20);
    const auto size = static_cast<uint32_t>(1 + random() % (step % 97 == 0 ? 5000 : 60));
    if (random() % 3 != 0) {
      auto at = truth.lower_bound(start);
      if (at != truth.begin() && std::prev(at)->second.limit() > start) {
        --at;
      }
      while (at != truth.end() && at->first < start + size) {
        at = truth.erase(at);
      }
      truth[start] = {start, size, step};
      put(map.get(), truth[start]);
    } else if (!truth.empty()) {
      auto at = truth.lower_bound(start);
      at = at == truth.end() ? truth.begin() : at;
      Code taken{};
      ASSERT_TRUE(map->take(at->first, &taken));
      ASSERT_EQ(at->second.record, taken.record);
      truth.erase(at);
    }
    const uint64_t asked = random() % (1u << 20);
    auto at = truth.upper_bound(asked);
    const bool is_in = at != truth.begin() && std::prev(at)->second.limit() > asked;
    const Code* const found = map->find(asked);
    ASSERT_EQ(is_in, found != nullptr) << step;
    ASSERT_TRUE(!is_in || found->record == std::prev(at)->second.record) << step;
  }
  EXPECT_GT(truth.size(), 2u * CodeMap::kChunkCodes);
}

TEST(CodeMap, RefusesWhenItIsFullAndGoesOnAfterClear) {
  const auto map = make();
  uint64_t start = 0x1000;
  uint32_t count = 0;
  while (map->insert({start, 8, count})) {
    start += 16;
    ++count;
  }
  // In ascending order each chunk is split once, and half full then.
  EXPECT_GE(count, CodeMap::kMaxChunks * CodeMap::kChunkCodes / 2);
  EXPECT_EQ(count - 1, map->find(start - 16)->record);
  map->clear();
  EXPECT_EQ(nullptr, map->find(0x1000));
  EXPECT_TRUE(map->insert({0x1000, 8, 7}));
  EXPECT_EQ(7u, map->find(0x1007)->record);
}

}  // namespace
}  // namespace memprof::v8::code_map_test
