// SPDX-License-Identifier: Apache-2.0
#include "core/tables/stack_table.h"

#include "platform/stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::stack_table_test {
namespace {

using platform::Walk;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;
using testing_support::take;

uint32_t intern(ScopedArena& a, const std::vector<uint64_t>& frames, Walk walk = Walk::kRoot) {
  bool is_new = false;
  const uint64_t none = 0;
  return a.stacks.intern(frames.empty() ? &none : frames.data(), static_cast<uint32_t>(frames.size()), walk,
                         &is_new);
}

TEST(StackTable, TheSameFramesAreTheSameStack) {
  ScopedArena a;
  bool is_new = false;
  const uint64_t frames[] = {0x401000, 0x402000, 0x403000};
  const uint32_t id = a.stacks.intern(frames, 3, Walk::kRoot, &is_new);
  ASSERT_NE(StackTable::kNone, id);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(id, a.stacks.intern(frames, 3, Walk::kRoot, &is_new));
  EXPECT_FALSE(is_new);
  EXPECT_EQ(1u, a.stacks.size());
  const StackEntry& e = a.stacks.entry(id);
  EXPECT_EQ(3u, e.depth);
  EXPECT_EQ(0, memcmp(a.arena.at<uint64_t>(kFrameSection, e.first_frame), frames, sizeof(frames)));
}

TEST(StackTable, DepthOrderAndReasonTellStacksApart) {
  ScopedArena a;
  std::set<uint32_t> ids;
  ids.insert(intern(a, {}));
  ids.insert(intern(a, {1}));
  ids.insert(intern(a, {1, 2}));
  ids.insert(intern(a, {2, 1}));
  ids.insert(intern(a, {1, 2, 0}));
  ids.insert(intern(a, {1, 2}, Walk::kBadFrame));
  ids.insert(intern(a, {}, Walk::kLeftStack));
  EXPECT_EQ(7u, ids.size());
  EXPECT_EQ(0u, ids.count(StackTable::kNone));
}

TEST(StackTable, KeysOfSimilarStacksDiffer) {
  std::set<uint64_t> hashes;
  std::set<uint64_t> tags;
  const auto enter = [&](const std::vector<uint64_t>& frames, Walk walk) {
    const StackKey key = stack_key(frames.data(), static_cast<uint32_t>(frames.size()), walk);
    hashes.insert(key.hash);
    tags.insert(key.hash >> 32);
  };
  for (uint64_t i = 0; i < 100000; ++i) {
    // Frames of one function: they differ in few low bits, or only in high ones.
    enter({0x7f0000401000 + i % 1000, 0x401000 + (i / 1000 << 48)}, Walk::kRoot);
  }
  EXPECT_EQ(100000u, hashes.size());
  EXPECT_GE(tags.size(), 99990u);  // of 2^32 tags, 100,000 share 1.2 pairs on average
  // All orders of frames that repeat, of all lengths, with all endings.
  uint64_t stacks = 0;
  for (uint32_t length = 0; length <= 7; ++length) {
    for (uint64_t bits = 0; bits < uint64_t{1} << (2 * length); ++bits) {
      std::vector<uint64_t> frames;
      for (uint32_t i = 0; i < length; ++i) {
        frames.push_back(0x401000 + (bits >> (2 * i)) % 4 * 5);
      }
      enter(frames, static_cast<Walk>(bits % platform::kWalkReasons));
      ++stacks;
    }
  }
  EXPECT_EQ(100000 + stacks, hashes.size());
}

TEST(StackTable, FindsInStepsWhatItInterns) {
  ScopedArena a;
  const uint64_t frames[] = {0x401000, 0x402000, 0x403000};
  const StackKey key = stack_key(frames, 3, Walk::kRoot);
  EXPECT_EQ(StackTable::kNone, a.stacks.find_likely(key));
  bool is_new = false;
  const uint32_t id = a.stacks.intern(frames, 3, Walk::kRoot, &is_new);
  a.stacks.prefetch(key);
  EXPECT_EQ(id, a.stacks.find_likely(key));
  EXPECT_TRUE(a.stacks.hold(id, key));
  // Half of a hash is not the stack.
  const StackKey like{key.hash ^ 1 << 20, key.check};
  const StackKey unlike{key.hash, key.check ^ 1};
  EXPECT_FALSE(a.stacks.hold(id, like));
  EXPECT_EQ(id, a.stacks.find_likely(unlike));
  EXPECT_FALSE(a.stacks.hold(id, unlike));
  EXPECT_EQ(2u, a.stacks.entry(id).uses.load());
}

TEST(StackTable, KeepsTheSumsThatIntervalsNeed) {
  ScopedArena a;
  const uint32_t id = intern(a, {0x401000});
  constexpr uint64_t kRate = 4096;
  const uint64_t sizes[] = {0, 16, 4096, 100, 65536};
  double bytes = 0, count = 0, variance_bytes = 0, variance_count = 0, max_bytes = 0, max_count = 0;
  uint64_t size_bytes = 0;
  for (const uint64_t size : sizes) {
    const Weight w = weigh(size, kRate);
    a.stacks.add_allocated(id, size, w);
    size_bytes += size;
    bytes += w.bytes;
    count += w.count;
    variance_bytes += (1 - w.probability) * w.bytes * w.bytes;
    variance_count += (1 - w.probability) * w.count * w.count;
    max_bytes = std::max(max_bytes, w.missed_bytes());
    max_count = std::max(max_count, w.missed);
  }
  const StackEntry& e = a.stacks.entry(id);
  EXPECT_EQ(5u, e.allocated.samples.load());
  EXPECT_EQ(size_bytes, e.allocated.size_bytes.load());
  EXPECT_DOUBLE_EQ(bytes, e.allocated.weight_bytes.load());
  EXPECT_DOUBLE_EQ(count, e.allocated.weight_count.load());
  EXPECT_DOUBLE_EQ(variance_bytes, e.variance_bytes.load());
  EXPECT_DOUBLE_EQ(variance_count, e.variance_count.load());
  EXPECT_DOUBLE_EQ(max_bytes, e.max_missed_bytes.load());
  EXPECT_DOUBLE_EQ(max_count, e.max_missed_count.load());
  EXPECT_EQ(0u, e.freed.samples.load());
}

TEST(StackTable, ExactSamplesHaveNoVariance) {
  ScopedArena a;
  const uint32_t id = intern(a, {0x401000});
  a.stacks.add_allocated(id, 1000, weigh(1000, 0));
  EXPECT_EQ(0.0, a.stacks.entry(id).variance_bytes.load());
  EXPECT_EQ(0.0, a.stacks.entry(id).max_missed_count.load());
}

// What was freed of a stack after so long; nullptr: no unit is there.
const StackTotals* freed_after(ScopedArena& a, uint32_t id, uint64_t lifetime_ns) {
  const uint32_t index = lifetime_class(lifetime_ns);
  const uint32_t ref = a.stacks.entry(id).units[index / kUnitClasses].load();
  return ref == 0 ? nullptr
                  : &a.arena.at<LifetimeUnit>(kLifetimeSection)[ref - 1].classes[index % kUnitClasses];
}

TEST(StackTable, KeepsLifetimesByClasses) {
  ScopedArena a;
  const uint32_t id = intern(a, {0x401000});
  const StackEntry& e = a.stacks.entry(id);
  const Weight w = weigh(4096, 4096);
  EXPECT_EQ(nullptr, freed_after(a, id, 0));
  a.stacks.add_freed(id, 4096, w, 500);
  a.stacks.add_freed(id, 4096, w, 0);  // within the resolution of the clock
  a.stacks.add_freed(id, 4096, w, 999);
  a.stacks.add_freed(id, 100, w, 1000);
  a.stacks.add_freed(id, 4096, w, UINT64_MAX);
  const StackTotals* min = freed_after(a, id, 1);
  ASSERT_NE(nullptr, min);
  EXPECT_EQ(3u, min->samples.load());
  EXPECT_EQ(3u * 4096, min->size_bytes.load());
  EXPECT_DOUBLE_EQ(3 * w.bytes, min->weight_bytes.load());
  EXPECT_DOUBLE_EQ(3 * w.count, min->weight_count.load());
  EXPECT_EQ(1u, freed_after(a, id, 2999)->samples.load());
  EXPECT_EQ(100u, freed_after(a, id, 2999)->size_bytes.load());
  EXPECT_EQ(1u, freed_after(a, id, UINT64_MAX)->samples.load());
  EXPECT_EQ(0u, e.freed.samples.load());
  // Units are made when they are needed: of the first classes, and of the last.
  EXPECT_EQ(2 * sizeof(LifetimeUnit), a.arena.section(kLifetimeSection).used_bytes.load());
  EXPECT_EQ(0u, e.units[1].load());
}

TEST(StackTable, WhatFindsNoUnitIsFreedAllTheSame) {
  ScopedArena a({1024, 256, 32});
  Section& section = a.arena.section(kLifetimeSection);
  section.used_bytes = section.capacity_bytes - sizeof(LifetimeUnit);
  const uint32_t id = intern(a, {0x401000});
  a.stacks.add_freed(id, 64, weigh(64, 0), 10);        // gets the last one
  a.stacks.add_freed(id, 64, weigh(64, 0), 20000000);  // none is left
  a.stacks.add_freed(id, 64, weigh(64, 0), 20000000);
  EXPECT_EQ(2u, a.stacks.entry(id).freed.samples.load());
  EXPECT_EQ(2u, a.arena.header().later_statistics.unclassed_frees.load());
  const auto s = take(a.arena);
  EXPECT_EQ(3u, s->stacks.data[id].freed.samples);
  EXPECT_EQ(3u * 64, s->stacks.data[id].freed.size_bytes);
  EXPECT_EQ(1u, s->lifetimes.size);
}

TEST(StackTable, TheLimitOfStacksShortensTheNextOneOnly) {
  ScopedArena a({1024, 300, 8});
  constexpr uint32_t kWhole = 300 - 64 - 37;  // what is left by those of no frames, and by shortened ones
  for (uint64_t i = 0; i < kWhole; ++i) {
    ASSERT_EQ(i, intern(a, {i, 1})) << i;
  }
  const uint32_t next = intern(a, {1000, 1});
  ASSERT_NE(StackTable::kNone, next);
  EXPECT_EQ(2u, a.stacks.entry(next).depth);
  EXPECT_EQ(1000u, a.arena.at<uint64_t>(kFrameSection, a.stacks.entry(next).first_frame)[0]);
  EXPECT_EQ(platform::kOlderStacks, a.arena.at<uint64_t>(kFrameSection, a.stacks.entry(next).first_frame)[1]);
  EXPECT_EQ(kWhole + 1, a.stacks.size());
  EXPECT_EQ(kWhole - 1, intern(a, {kWhole - 1, 1}));  // a known one is still found; the oldest leave
}

TEST(StackTable, TheLimitOfFramesShortensDeepStacksAndStillTakesShallowOnes) {
  ScopedArena a({1024, 256, 1024});
  std::vector<uint64_t> deep(1000);
  uint32_t entered = 0;
  for (uint64_t i = 0; i < 256; ++i) {
    std::fill(deep.begin(), deep.end(), 0x1000 + i);
    const uint32_t id = intern(a, deep);
    ASSERT_NE(StackTable::kNone, id);
    entered += a.stacks.entry(id).depth == deep.size();
  }
  // These share nothing.  640 pieces of callers are those of five and 20 of the sixth; of 12 frames for each of 256 stacks
  // and 1024 more shortened ones leave 3,520, of which the others have 840 and 1,000 each.
  EXPECT_EQ(8u, entered);
  EXPECT_EQ(1u, a.stacks.entry(intern(a, {1})).depth);
}

TEST(StackTable, EightThreadsInterningTheSameStacksShareIdsAndTotals) {
  constexpr uint64_t kStacks = 2000;
  ScopedArena a({1024, 8 * kStacks, 32});
  std::vector<std::vector<uint32_t>> ids(8, std::vector<uint32_t>(kStacks));
  std::atomic<uint64_t> news{0};
  run_threads(8, [&](int thread) {
    for (uint64_t i = 0; i < kStacks; ++i) {
      const uint64_t n = thread % 2 == 0 ? i : kStacks - 1 - i;
      uint64_t frames[20];
      std::fill(frames, frames + 20, n * 16 + 1);
      bool is_new = false;
      ids[thread][n] = a.stacks.intern(frames, 1 + n % 20, Walk::kRoot, &is_new);
      news += is_new;
      a.stacks.add_allocated(ids[thread][n], n, weigh(n, 0));
      a.stacks.add_freed(ids[thread][n], n, weigh(n, 0), n);
    }
  });
  for (int thread = 1; thread < 8; ++thread) {
    ASSERT_EQ(ids[0], ids[thread]);
  }
  EXPECT_EQ(kStacks, std::set<uint32_t>(ids[0].begin(), ids[0].end()).size());
  EXPECT_EQ(kStacks, news.load());  // each was new to one thread only
  for (uint64_t n = 0; n < kStacks; ++n) {
    const StackEntry& e = a.stacks.entry(ids[0][n]);
    ASSERT_EQ(8u, e.allocated.samples.load());
    ASSERT_EQ(8 * n, e.allocated.size_bytes.load());
    ASSERT_EQ(8.0 * static_cast<double>(n), e.allocated.weight_bytes.load());
    ASSERT_EQ(8u, freed_after(a, ids[0][n], n)->samples.load());
    ASSERT_EQ(8.0, freed_after(a, ids[0][n], n)->weight_count.load());
  }
}

// Whoever was slower leaves an entry that nobody knows: it holds nothing and is not a stack of a snapshot's
// records.
TEST(StackTable, WhatARaceWastedHoldsNothing) {
  ScopedArena a({1024, 4096, 32});
  run_threads(8, [&](int) {
    for (uint64_t i = 0; i < 300; ++i) {
      bool is_new = false;
      a.stacks.add_allocated(a.stacks.intern(&i, 1, Walk::kRoot, &is_new), 1, weigh(1, 0));
    }
  });
  const auto s = take(a.arena);
  uint64_t with_samples = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    const SnapshotTotals& t = s->stacks.data[i].allocated;
    EXPECT_TRUE(t.samples == 0 || t.samples == 8) << t.samples;
    with_samples += t.samples != 0;
  }
  EXPECT_EQ(300u, with_samples);
}

TEST(StackTable, TotalsAreExactUnderRaces) {
  ScopedArena a;
  const uint32_t id = intern(a, {0x401000});
  const uint64_t each = scaled(200000);
  run_threads(8, [&](int thread) {
    for (uint64_t i = 0; i < each; ++i) {
      // Whole and half numbers: sums of doubles are exact in any order.
      a.stacks.add_allocated(id, 3, {0.5, 2.0, 6.0, 1.0});
      a.stacks.add_freed(id, 3, {0.5, 2.0, 6.0, 1.0}, static_cast<uint64_t>(thread) * 1000 + i % 1000);
    }
  });
  const StackEntry& e = a.stacks.entry(id);
  const double n = 8.0 * static_cast<double>(each);
  EXPECT_EQ(8 * each, e.allocated.samples.load());
  EXPECT_EQ(24 * each, e.allocated.size_bytes.load());
  EXPECT_EQ(6 * n, e.allocated.weight_bytes.load());
  EXPECT_EQ(0.5 * 36 * n, e.variance_bytes.load());
  EXPECT_EQ(0.5 * 4 * n, e.variance_count.load());
  EXPECT_EQ(3.0, e.max_missed_bytes.load());
  // Threads 0, 1 and 2, 3 to 7: below 1 us, 3 us, 10 us.
  EXPECT_EQ(2.0 * 1 * static_cast<double>(each), freed_after(a, id, 0)->weight_count.load());
  EXPECT_EQ(2.0 * 2 * static_cast<double>(each), freed_after(a, id, 1000)->weight_count.load());
  EXPECT_EQ(2.0 * 5 * static_cast<double>(each), freed_after(a, id, 3000)->weight_count.load());
}

TEST(StackTable, HeapIsPartOfAStack) {
  ScopedArena a;
  const uint64_t frames[] = {1, 2, 3};
  bool is_new = false;
  std::vector<uint32_t> ids;
  for (const uint32_t heap : {0u, 1u, 2u, 1023u}) {
    for (const uint32_t depth : {0u, 3u}) {
      ids.push_back(a.stacks.intern(frames, depth, Walk::kRoot, &is_new, heap));
      EXPECT_TRUE(is_new);
      EXPECT_EQ(heap, a.stacks.entry(ids.back()).heap);
      EXPECT_EQ(ids.back(), a.stacks.intern(frames, depth, Walk::kRoot, &is_new, heap));
      EXPECT_FALSE(is_new);
    }
  }
  EXPECT_EQ(8u, std::set<uint32_t>(ids.begin(), ids.end()).size());
}

}  // namespace
}  // namespace memprof::stack_table_test
