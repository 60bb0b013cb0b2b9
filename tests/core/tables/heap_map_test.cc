// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_map.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_map>

#include "tests/core/tables/live_samples.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::heap_map_test {
namespace {

using testing_support::Random;
using testing_support::scaled;
using testing_support::ScopedArena;
using testing_support::take;

void expect_equal(const LiveSample& a, const LiveSample& b) {
  EXPECT_EQ(a.address, b.address);
  EXPECT_EQ(a.size_bytes, b.size_bytes);
  EXPECT_EQ(a.rate_bytes, b.rate_bytes);
  EXPECT_EQ(a.time_ns, b.time_ns);
  EXPECT_EQ(a.stack_id, b.stack_id);
  EXPECT_EQ(a.thread_id, b.thread_id);
}

TEST(HeapMap, InsertFindErase) {
  ScopedArena a;
  LiveSample erased{};
  EXPECT_FALSE(a.live.find(0x1000));
  EXPECT_FALSE(a.live.erase(0x1000, &erased));
  const LiveSample s = sample_at(0x7f0011223340, 17);
  ASSERT_TRUE(a.live.insert(s));
  EXPECT_EQ(1u, a.live.size());
  EXPECT_TRUE(a.live.find(s.address));
  EXPECT_FALSE(a.live.find(s.address + 16));
  ASSERT_TRUE(a.live.erase(s.address, &erased));
  expect_equal(s, erased);
  EXPECT_EQ(0u, a.live.size());
  EXPECT_FALSE(a.live.find(s.address));
  EXPECT_FALSE(a.live.erase(s.address, &erased));
}

TEST(HeapMap, WhatOfABlockIsInMemoryStaysWithItsRecord) {
  ScopedArena a;
  LiveSample s = sample_at(0x7f0011223340, 17);
  s.thread_id = 4194303;  // the largest that there is
  ASSERT_TRUE(a.live.insert(s));
  EXPECT_TRUE(a.live.set_resident(s.address, ResidentShare::code(0.25F)));
  EXPECT_FALSE(a.live.set_resident(s.address + 16, ResidentShare::code(0.25F)));
  const HeapMap::Token token = a.live.find(s.address);
  LiveSample read{};
  HeapMap::Token again;
  ASSERT_TRUE(a.live.read_slot(token.slot, &read, &again));
  expect_equal(s, read);
  EXPECT_NEAR(0.25F, ResidentShare::share(read.resident), 0.001F);
  EXPECT_TRUE(a.live.set_resident(s.address, ResidentShare::kUnknown));
  ASSERT_TRUE(a.live.read_slot(token.slot, &read, &again));
  EXPECT_EQ(ResidentShare::kUnknown, read.resident);
  EXPECT_TRUE(a.live.set_resident(s.address, ResidentShare::kMax));
  LiveSample erased{};
  ASSERT_TRUE(a.live.erase(s.address, &erased));
  expect_equal(s, erased);
  ASSERT_TRUE(a.live.insert(s));  // in the same slot, perhaps: nothing is known of it
  ASSERT_TRUE(a.live.read_slot(a.live.find(s.address).slot, &read, &again));
  EXPECT_EQ(ResidentShare::kUnknown, read.resident);
}

TEST(HeapMap, TheReservedKeysAreNeverThere) {
  ScopedArena a;
  ASSERT_TRUE(a.live.insert(sample_at(0x1000)));
  LiveSample erased{};
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}}) {
    EXPECT_FALSE(a.live.find(address));
    EXPECT_FALSE(a.live.erase(address, &erased));
  }
  EXPECT_FALSE(a.live.erase(0x1000, HeapMap::Token{}, &erased));
  EXPECT_EQ(1u, a.live.size());
}

TEST(HeapMap, AStaleTokenCannotEraseTheSuccessor) {
  ScopedArena a;
  LiveSample erased{};
  ASSERT_TRUE(a.live.insert(sample_at(0x2000, 1)));
  const HeapMap::Token stale = a.live.find(0x2000);
  ASSERT_TRUE(a.live.erase(0x2000, &erased));
  EXPECT_FALSE(a.live.erase(0x2000, stale, &erased));  // nothing there
  ASSERT_TRUE(a.live.insert(sample_at(0x2000, 2)));
  const HeapMap::Token fresh = a.live.find(0x2000);
  EXPECT_EQ(stale.slot, fresh.slot);
  EXPECT_NE(stale.generation, fresh.generation);
  EXPECT_FALSE(a.live.erase(0x2000, stale, &erased));
  EXPECT_EQ(1u, a.live.size());
  ASSERT_TRUE(a.live.erase(0x2000, fresh, &erased));
  expect_equal(sample_at(0x2000, 2), erased);
}

TEST(HeapMap, ATokenOfAnotherAddressErasesNothing) {
  ScopedArena a;
  ASSERT_TRUE(a.live.insert(sample_at(0x2000)));
  ASSERT_TRUE(a.live.insert(sample_at(0x3000)));
  LiveSample erased{};
  EXPECT_FALSE(a.live.erase(0x2000, a.live.find(0x3000), &erased));
  EXPECT_EQ(2u, a.live.size());
}

TEST(HeapMap, AgreesWithAMapOverRandomOperations) {
  ScopedArena a({20000, 256, 8});
  std::unordered_map<uint64_t, LiveSample> model;
  Random random(3);
  for (uint64_t i = 0; i < scaled(2000000); ++i) {
    const uint64_t address = 0x7f0000000000 + random.below(30000) * 16;
    LiveSample erased{};
    const auto known = model.find(address);
    ASSERT_EQ(known != model.end(), static_cast<bool>(a.live.find(address)));
    if (known != model.end()) {
      ASSERT_TRUE(a.live.erase(address, &erased));
      expect_equal(known->second, erased);
      model.erase(known);
    } else if (model.size() < 15000) {
      ASSERT_TRUE(a.live.insert(sample_at(address, i)));
      model.emplace(address, sample_at(address, i));
    }
    ASSERT_EQ(model.size(), a.live.size());
  }
  const auto s = take(a.arena);
  // No stacks were entered, so a snapshot has no record; the slots themselves hold exactly the model.
  EXPECT_EQ(0u, s->records.size);
  for (const auto& [address, sample] : model) {
    LiveSample erased{};
    ASSERT_TRUE(a.live.erase(address, &erased));
    expect_equal(sample, erased);
  }
  EXPECT_EQ(0u, a.live.size());
}

TEST(HeapMap, HoldsWhatItsLimitSaysAndNotMore) {
  for (const uint64_t limit : {1u, 7u, 1024u, 5000u, 100000u}) {
    ScopedArena a({limit, 256, 8});
    for (uint64_t i = 0; i < limit; ++i) {
      ASSERT_TRUE(a.live.insert(sample_at(0x10000 + i * 64, i))) << i << " of " << limit;
    }
    EXPECT_FALSE(a.live.insert(sample_at(0x8000)));
    EXPECT_FALSE(a.live.find(0x8000));
    EXPECT_EQ(limit, a.live.size());  // a refusal leaves nothing behind
    LiveSample erased{};
    ASSERT_TRUE(a.live.erase(0x10000, &erased));
    EXPECT_TRUE(a.live.insert(sample_at(0x8000)));
  }
}

TEST(HeapMap, NotTheLuckOfAKeyRefusesButTheLimit) {
  // Limits around which a table gets another level, each with 50 sets of addresses.
  for (const uint64_t limit : {100u, 341u, 342u, 512u, 1023u, 1025u, 1535u, 2389u, 3584u}) {
    for (uint64_t seed = 0; seed < (testing_support::kSanitized ? 5 : 50); ++seed) {
      ScopedArena a({limit, 256, 8});
      Random random(seed);
      for (uint64_t i = 0; i < limit; ++i) {
        ASSERT_TRUE(a.live.insert(sample_at((random.next() >> 20) * 16 + 16))) << i << " of " << limit;
      }
    }
  }
}

TEST(HeapMap, GrowsALevelAtATimeAndFindsEverythingOnTheWay) {
  ScopedArena a({100000, 256, 8});
  uint32_t before = 0;
  std::set<uint32_t> seen;
  for (uint64_t i = 0; i < 100000; ++i) {
    ASSERT_TRUE(a.live.insert(sample_at(0x7f0000000000 + i * 48, i)));
    const uint32_t open = open_levels(a);
    ASSERT_GE(open, before);
    ASSERT_LE(open, before + 1);
    before = open;
    seen.insert(open);
  }
  EXPECT_GE(seen.size(), 6u);  // 100,000 keys need the 7 levels of 130,048 slots, or one more
  EXPECT_LE(before, 8u);
  for (uint64_t i = 0; i < 100000; ++i) {
    const HeapMap::Token token = a.live.find(0x7f0000000000 + i * 48);
    ASSERT_TRUE(token);
    LiveSample erased{};
    ASSERT_TRUE(a.live.erase(0x7f0000000000 + i * 48, token, &erased));
    ASSERT_EQ(i + 1, erased.size_bytes);
  }
  EXPECT_EQ(0u, a.live.size());
}

// Lesson 22: an erase leaves nothing behind; a lookup looks at no more levels after 10 million pairs than
// the bounded live set needs.
// In a file it is the system that gives memory, 16 KiB a sample, so that no sample waits for all of a level.
TEST(HeapMap, TheMemoryOfANewLevelComesInSteps) {
  ScopedArena a({1 << 17, 64, 4});
  const Section& section = a.arena.section(kLiveSection);
  uint64_t max = 0;
  uint64_t keys = 0;
  for (; keys < 60'000; ++keys) {
    const uint64_t before = section.committed_bytes.load();
    ASSERT_TRUE(a.live.insert({{0x10000 + keys * 16, 1, 1, 1, 0, 1}}));
    // The first levels are too small to be sure of when they are needed.
    max = a.header().live_levels.open.load() > 3 ? std::max(max, section.committed_bytes.load() - before) : 0;
  }
  EXPECT_GE(a.header().live_levels.open.load(), 6u);
  EXPECT_EQ(16u << 10, max);
}

TEST(HeapMap, Lesson22TenMillionPairsLeaveNothingBehind) {
  constexpr uint64_t kLive = 10000;
  ScopedArena a({uint64_t{1} << 20, 256, 8});
  Random random(9);
  std::vector<uint64_t> live;
  const auto insert_one = [&] {
    const uint64_t address = 0x7f0000000000 + (random.next() >> 24) * 16;
    if (!a.live.find(address)) {
      ASSERT_TRUE(a.live.insert(sample_at(address)));
      live.push_back(address);
    }
  };
  while (live.size() < kLive) {
    insert_one();
  }
  const uint32_t at_start = open_levels(a);
  for (uint64_t i = 0; i < scaled(10000000); ++i) {
    const size_t which = random.below(live.size());
    LiveSample erased{};
    ASSERT_TRUE(a.live.erase(live[which], &erased));
    live[which] = live.back();
    live.pop_back();
    insert_one();
  }
  EXPECT_LE(open_levels(a), at_start + 1);
  EXPECT_LE(open_levels(a), levels_for(2 * kLive));
  for (const uint64_t address : live) {
    LiveSample erased{};
    ASSERT_TRUE(a.live.erase(address, &erased));
  }
  EXPECT_EQ(0u, a.live.size());
  for (uint32_t level = 0; level < open_levels(a); ++level) {
    const auto* keys = a.arena.at<std::atomic<uint64_t>>(kLiveSection, live_level_offset(level));
    for (uint64_t i = 0; i < level_slots(level); ++i) {
      ASSERT_EQ(0u, keys[i].load());
    }
  }
}

TEST(HeapMap, AFirstRateIsKeptThroughChanges) {
  constexpr uint64_t kAddress = 0x4000;
  for (const uint64_t rate : {uint64_t{0}, uint64_t{1}, uint64_t{524288}, uint64_t{524287},
                              (uint64_t{1} << 25) - 1, uint64_t{3} << 40, uint64_t{1} << 63}) {
    EXPECT_EQ(rate, FirstRate::rate_bytes(FirstRate::code(rate)));
    EXPECT_NE(FirstRate::kNone, FirstRate::code(rate));
  }
  EXPECT_EQ(FirstRate::kNone, FirstRate::code((uint64_t{1} << 26) + 1));
  ScopedArena a;
  ASSERT_TRUE(a.live.insert({{kAddress, 100, 3000, 1, 1, 1}}));
  LiveSample sample;
  HeapMap::Token token = a.live.find(kAddress);
  ASSERT_TRUE(a.live.read_slot(token.slot, &sample, &token));
  EXPECT_EQ(3000u, a.live.first_rate(token, sample));
  for (const uint64_t rate : {uint64_t{6000}, uint64_t{12000}}) {
    EXPECT_TRUE(a.live.keep_first_rate(token, sample));
    ASSERT_TRUE(a.live.change_rate(token, sample.rate_bytes, rate));
    ASSERT_TRUE(a.live.read_slot(token.slot, &sample, &token));
    EXPECT_EQ(3000u, a.live.first_rate(token, sample));
  }
  // The next one in this slot has a first rate of its own.
  ASSERT_TRUE(a.live.erase(kAddress, &sample));
  ASSERT_TRUE(a.live.insert({{kAddress, 100, 500, 1, 1, 1}}));
  const HeapMap::Token erased = token;
  token = a.live.find(kAddress);
  ASSERT_EQ(erased.slot, token.slot);
  EXPECT_FALSE(a.live.keep_first_rate(erased, sample));
  ASSERT_TRUE(a.live.read_slot(token.slot, &sample, &token));
  EXPECT_EQ(500u, a.live.first_rate(token, sample));
}

TEST(HeapMap, NextBetweenFindsEveryKeyOfARange) {
  ScopedArena a;
  std::set<uint64_t> inside;
  for (uint64_t i = 0; i < 900; ++i) {
    ASSERT_TRUE(a.live.insert({{1000 + i, i, 1, 0, 0, 0}}));
    if (i >= 100 && i <= 700) {
      inside.insert(1000 + i);
    }
  }
  std::set<uint64_t> found;
  uint64_t address;
  for (uint64_t slot = 0; a.live.next_between(1100, 1700, &slot, &address);) {
    EXPECT_TRUE(found.insert(address).second);
    EXPECT_LE(slot, a.live.slots());
  }
  EXPECT_EQ(inside, found);
  uint64_t slot = 0;
  EXPECT_FALSE(a.live.next_between(0, 999, &slot, &address));  // no empty slot is a key
}

}  // namespace
}  // namespace memprof::heap_map_test
