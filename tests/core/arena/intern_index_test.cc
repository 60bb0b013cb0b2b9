// SPDX-License-Identifier: Apache-2.0
#include "core/arena/intern_index.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "core/tables/stack_table.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::intern_index_test {
namespace {

using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;

// An index over numbers: the content of an id is contents[id].
struct Numbers {
  explicit Numbers(ScopedArena* a, uint32_t max = 1u << 16)
      : index(a->arena, kStackIndexSection, &a->arena.header().stack_levels), contents(max) {}

  uint32_t intern(uint64_t number, uint64_t hash) {
    return index.find_or_insert(
        hash, [&](uint32_t id) { return contents[id].load() == number; },
        [&] {
          const uint32_t id = next.fetch_add(1);
          if (id >= contents.size()) {
            return InternIndex::kNone;
          }
          contents[id].store(number);
          return id;
        });
  }
  uint32_t intern(uint64_t number) { return intern(number, mix_hash(number)); }

  InternIndex index;
  std::vector<std::atomic<uint64_t>> contents;
  std::atomic<uint32_t> next{0};
};

TEST(InternIndex, GivesEachContentOneIdForEver) {
  ScopedArena a({1024, 20000, 8});
  Numbers numbers(&a);
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < 20000; ++i) {
    ids.push_back(numbers.intern(i));
    ASSERT_NE(InternIndex::kNone, ids.back());
  }
  EXPECT_EQ(20000u, std::set<uint32_t>(ids.begin(), ids.end()).size());
  for (uint64_t i = 0; i < 20000; ++i) {
    ASSERT_EQ(ids[i], numbers.intern(i));
  }
  EXPECT_EQ(20000u, numbers.next.load());  // nothing was made twice
}

TEST(InternIndex, EqualHashesAreToldApartByTheirContent) {
  ScopedArena a;
  Numbers numbers(&a);
  std::set<uint32_t> ids;
  // One bucket of 8 a level, and 2 levels or more: 16 equal hashes fit whatever the index is like.
  ASSERT_GE(a.header().stack_levels.limit, 2u);
  for (uint64_t i = 0; i < 16 / 8 * a.header().stack_levels.limit; ++i) {
    ids.insert(numbers.intern(i, 0x1234));
  }
  EXPECT_EQ(16u / 8 * a.header().stack_levels.limit, ids.size());
  EXPECT_EQ(0u, ids.count(InternIndex::kNone));
}

TEST(InternIndex, AHashOfZeroAndTheFirstIdAreAContent) {
  ScopedArena a;
  Numbers numbers(&a);
  EXPECT_EQ(0u, numbers.intern(99, 0));
  EXPECT_EQ(0u, numbers.intern(99, 0));
  EXPECT_EQ(1u, numbers.next.load());
}

TEST(InternIndex, SaysNoWhenEveryBucketOfAHashIsFull) {
  ScopedArena a;
  Numbers numbers(&a);
  const uint32_t room = kBucketSlots * a.header().stack_levels.limit;
  for (uint32_t i = 0; i < room; ++i) {
    ASSERT_NE(InternIndex::kNone, numbers.intern(i, 7)) << i;
  }
  EXPECT_EQ(InternIndex::kNone, numbers.intern(room, 7));
  EXPECT_EQ(3u, numbers.intern(3, 7));  // those that are there are still found
  EXPECT_NE(InternIndex::kNone, numbers.intern(room, 8));
}

TEST(InternIndex, EntersNothingWhenTheContentCannotBeMade) {
  ScopedArena a;
  Numbers numbers(&a, 0);
  EXPECT_EQ(InternIndex::kNone, numbers.intern(1));
  int made = 0;
  const uint32_t id = numbers.index.find_or_insert(
      mix_hash(1), [](uint32_t) { return true; },
      [&]() -> uint32_t {
        ++made;
        return 5;
      });
  EXPECT_EQ(5u, id);
  EXPECT_EQ(1, made);  // it was not there
}

TEST(InternIndex, EightThreadsWithTheSameContentsGetTheSameIds) {
  ScopedArena a({1024, 20000, 8});
  constexpr uint64_t kContents = 10000;
  Numbers numbers(&a, 8 * kContents);
  std::vector<std::vector<uint32_t>> ids(8);
  run_threads(8, [&](int thread) {
    for (uint64_t i = 0; i < kContents; ++i) {
      // Neighbouring threads go in opposite directions, so that they meet at every distance.
      ids[thread].push_back(numbers.intern(thread % 2 == 0 ? i : kContents - 1 - i));
    }
    if (thread % 2 == 1) {
      std::reverse(ids[thread].begin(), ids[thread].end());
    }
  });
  for (int thread = 1; thread < 8; ++thread) {
    ASSERT_EQ(ids[0], ids[thread]);
  }
  EXPECT_EQ(kContents, std::set<uint32_t>(ids[0].begin(), ids[0].end()).size());
  for (uint64_t i = 0; i < kContents; ++i) {
    ASSERT_EQ(i, numbers.contents[ids[0][i]].load());
  }
}

}  // namespace
}  // namespace memprof::intern_index_test
