// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::heap_names_test {
namespace {

using testing_support::kThreadSanitizer;
using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

std::unique_ptr<HeapNames> make_names() {
  return std::make_unique<HeapNames>();  // zeros, as in the process
}

uint32_t add(HeapNames& names, const std::string& name) {
  return names.find_or_add(name.data(), static_cast<uint32_t>(name.size()));
}

std::string in_arena(const ScopedArena& a, uint32_t id) {
  const testing_support::SnapshotPointer s = take(a.arena);
  return id < s->heaps.size ? s->strings.data + s->heaps.data[id].name_offset : "(none)";
}

TEST(HeapNames, TheSameNameIsTheSameHeap) {
  const auto names = make_names();
  EXPECT_EQ(1u, add(*names, "pool:a"));
  EXPECT_EQ(2u, add(*names, "pool:ab"));
  EXPECT_EQ(3u, add(*names, "pool:"));
  EXPECT_EQ(1u, add(*names, "pool:a"));
  EXPECT_EQ(3u, add(*names, "pool:"));
  EXPECT_STREQ("pool:ab", names->name(2));
  EXPECT_TRUE(names->has(3));
  for (const uint32_t id : {0u, 4u, HeapNames::kMaxHeaps + 1, UINT32_MAX}) {
    EXPECT_FALSE(names->has(id)) << id;
  }
}

TEST(HeapNames, NameIsCopied) {
  const auto names = make_names();
  char name[] = "pool:a";
  EXPECT_EQ(1u, names->find_or_add(name, 6));
  name[5] = 'b';
  EXPECT_STREQ("pool:a", names->name(1));
  EXPECT_EQ(2u, names->find_or_add(name, 6));
}

TEST(HeapNames, FullTableStillFindsWhatItHas) {
  const auto names = make_names();
  for (uint32_t i = 1; i < HeapNames::kOthers; ++i) {
    ASSERT_EQ(i, add(*names, std::to_string(i)));
  }
  EXPECT_FALSE(names->has(HeapNames::kOthers));
  EXPECT_EQ(HeapNames::kOthers, add(*names, "more"));
  EXPECT_EQ(HeapNames::kOthers, add(*names, "and more"));
  EXPECT_STREQ("[other heaps]", names->name(HeapNames::kOthers));
  EXPECT_EQ(HeapNames::kOthers - 1, add(*names, std::to_string(HeapNames::kOthers - 1)));
  const ScopedArena a;
  names->attach(a.arena);
  EXPECT_EQ("[other heaps]", in_arena(a, HeapNames::kOthers));
  EXPECT_EQ(2u, a.header().later_statistics.folded_heaps.load());
}

TEST(HeapNames, FullPoolStillFindsWhatItHasAndTakesWhatFits) {
  const auto names = make_names();
  const auto long_name = [](uint32_t i) {
    return std::to_string(i) + std::string(HeapNames::kMaxNameBytes - std::to_string(i).size(), 'x');
  };
  constexpr uint32_t kFit = HeapNames::kPoolBytes / (HeapNames::kMaxNameBytes + 1);
  for (uint32_t i = 1; i <= kFit; ++i) {
    ASSERT_EQ(i, add(*names, long_name(i)));
  }
  EXPECT_EQ(HeapNames::kOthers, add(*names, "a"));
  EXPECT_EQ(kFit, add(*names, long_name(kFit)));
}

TEST(HeapNames, NamesFromBeforeAndAfterTheArenaAreInIt) {
  const auto names = make_names();
  const ScopedArena a;
  EXPECT_EQ(1u, add(*names, "before"));
  names->publish(1);  // nowhere yet
  EXPECT_EQ("(none)", in_arena(a, 1));
  names->attach(a.arena);
  EXPECT_EQ("before", in_arena(a, 1));
  EXPECT_EQ(2u, add(*names, "after"));
  names->publish(2);
  EXPECT_EQ("after", in_arena(a, 2));
  EXPECT_EQ("before", in_arena(a, 1));
}

// All threads register the same names, in different orders, while the arena comes.
TEST(HeapNames, RacingThreadsAgree) {
  constexpr int kRounds = kThreadSanitizer ? 10 : 50;
  constexpr int kThreads = 4;
  constexpr uint32_t kNames = 100;
  for (int round = 0; round < kRounds; ++round) {
    const auto names = make_names();
    const ScopedArena a;
    std::vector<std::vector<uint32_t>> ids(kThreads, std::vector<uint32_t>(kNames));
    run_threads(kThreads + 1, [&](int thread) {
      if (thread == kThreads) {
        names->attach(a.arena);
        return;
      }
      for (uint32_t n = 0; n < kNames; ++n) {
        const uint32_t i = thread % 2 == 0 ? n : kNames - 1 - n;
        ids[thread][i] = add(*names, "heap " + std::to_string(i));
        names->publish(ids[thread][i]);
      }
    });
    std::set<uint32_t> different;
    for (uint32_t i = 0; i < kNames; ++i) {
      for (int thread = 0; thread < kThreads; ++thread) {
        ASSERT_EQ(ids[0][i], ids[thread][i]);
      }
      different.insert(ids[0][i]);
      ASSERT_EQ("heap " + std::to_string(i), in_arena(a, ids[0][i]));
    }
    ASSERT_EQ(kNames, different.size());
    ASSERT_EQ(kNames, *different.rbegin());
  }
}

}  // namespace
}  // namespace memprof::heap_names_test
