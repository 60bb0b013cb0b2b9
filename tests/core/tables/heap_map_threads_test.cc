// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_map.h"

#include <gtest/gtest.h>

#include "tests/core/tables/live_samples.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::heap_map_test {
namespace {

uint32_t thread_of(uint64_t n) {
  return ResidentShare::thread_of(static_cast<uint32_t>(n + 1));
}

using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;

TEST(HeapMap, ADoubleFreeHasOneWinner) {
  ScopedArena a;
  std::atomic<uint64_t> winners{0};
  std::atomic<uint64_t> round{0};
  std::atomic<int> done{0};
  constexpr uint64_t kAddress = 0x4000;
  // Each round waits for the slowest of four threads, and a machine may have one processor for them.
  const uint64_t rounds = scaled(10000);
  ASSERT_TRUE(a.live.insert(sample_at(kAddress, 0)));
  run_threads(4, [&](int thread) {
    for (uint64_t r = 0; r < rounds; ++r) {
      LiveSample erased{};
      winners += a.live.erase(kAddress, &erased);
      // All have tried before the next record comes.
      if (done.fetch_add(1) == 3) {
        done = 0;
        if (r + 1 < rounds) {
          EXPECT_TRUE(a.live.insert(sample_at(kAddress, r)));
        }
        round = r + 1;
      }
      while (round.load() != r + 1) {
        std::this_thread::yield();
      }
    }
    static_cast<void>(thread);
  });
  EXPECT_EQ(rounds, winners.load());
  EXPECT_EQ(0u, a.live.size());
}

// Threads own addresses, as the threads of a program own blocks; readers go over the slots meanwhile and must
// never see a record whose fields are of two insertions.
TEST(HeapMap, ReadersNeverSeeAMixtureOfTwoRecords) {
  ScopedArena a({4096, 256, 8});
  std::atomic<int> writers{8};
  std::atomic<uint64_t> read{0};
  std::atomic<uint64_t> torn{0};
  run_threads(10, [&](int thread) {
    if (thread < 8) {
      Random random(static_cast<uint64_t>(thread));
      uint64_t held[64] = {};
      for (uint64_t i = 0; i < scaled(2000000) || read < 1000; ++i) {
        const uint64_t which = random.below(64);
        const uint64_t address = 0x10000 + (static_cast<uint64_t>(thread) * 64 + which) * 16;
        if (held[which] != 0) {
          LiveSample erased{};
          EXPECT_TRUE(a.live.erase(address, &erased));
          EXPECT_EQ(held[which], erased.size_bytes);
          held[which] = 0;
        } else {
          held[which] = 1 + random.below(1u << 30);
          const uint64_t n = held[which];
          EXPECT_TRUE(a.live.insert({{address, n, n * 2, n * 3, static_cast<uint32_t>(n), thread_of(n)}}));
        }
      }
      for (uint64_t which = 0; which < 64; ++which) {
        LiveSample erased{};
        if (held[which] != 0) {
          EXPECT_TRUE(a.live.erase(0x10000 + (static_cast<uint64_t>(thread) * 64 + which) * 16, &erased));
        }
      }
      --writers;
      return;
    }
    while (writers.load() != 0) {
      for (uint32_t level = 0; level < open_levels(a); ++level) {
        const auto* keys = a.arena.at<std::atomic<uint64_t>>(kLiveSection, live_level_offset(level));
        const auto* records = a.arena.at<LiveRecord>(
            kLiveSection, live_level_offset(level) + level_slots(level) * sizeof(uint64_t));
        for (uint64_t i = 0; i < level_slots(level); ++i) {
          LiveSample s{};
          if (HeapMap::read(keys[i], records[i], &s)) {
            ++read;
            const uint64_t n = s.size_bytes;
            torn += n == 0 || s.rate_bytes != n * 2 || s.time_ns != n * 3 ||
                    s.stack_id != static_cast<uint32_t>(n) || s.thread_id != thread_of(n);
          }
        }
      }
    }
  });
  EXPECT_GT(read.load(), 0u);
  EXPECT_EQ(0u, torn.load());
  EXPECT_EQ(0u, a.live.size());
}

// The limit is exact as long as nobody races at its edge, and never overrun.
TEST(HeapMap, RacingInsertsNeverOverrunTheLimit) {
  ScopedArena a({500, 256, 8});
  std::atomic<uint64_t> in{0};
  run_threads(8, [&](int thread) {
    for (uint64_t i = 0; i < 200; ++i) {
      in += a.live.insert(sample_at(0x10000 + (static_cast<uint64_t>(thread) * 200 + i) * 16));
    }
  });
  EXPECT_LE(in.load(), 500u);
  EXPECT_GE(in.load(), 493u);  // each of the others may have stood in the door for a moment
  EXPECT_EQ(in.load(), a.live.size());
}

// A realloc that commits late hits neither the successor nor the successor's free.
TEST(HeapMap, AStaleCommitDoesNotHideTheSuccessorFromItsFree) {
  ScopedArena a;
  LiveSample erased{};
  constexpr uint64_t kAddress = 0x7000;
  ASSERT_TRUE(a.live.insert(sample_at(kAddress, 0)));
  std::atomic<HeapMap::Token*> stale{nullptr};
  HeapMap::Token first = a.live.find(kAddress);
  ASSERT_TRUE(a.live.erase(kAddress, &erased));
  stale = &first;
  std::atomic<bool> stop{false};
  uint64_t lost = 0;
  run_threads(2, [&](int thread) {
    if (thread == 0) {
      LiveSample never{};
      while (!stop) {
        EXPECT_FALSE(a.live.erase(kAddress, first, &never));
      }
      return;
    }
    for (uint64_t i = 1; i <= scaled(1000000); ++i) {
      EXPECT_TRUE(a.live.insert(sample_at(kAddress, i)));
      LiveSample mine{};
      if (!a.live.erase(kAddress, &mine)) {
        ++lost;
        while (!a.live.erase(kAddress, &mine)) {
        }
      }
    }
    stop = true;
  });
  EXPECT_EQ(0u, lost);
  EXPECT_EQ(0u, a.live.size());
}

// Who changes a record knows whether it did, also where the record went and an equal one came before it could look.
TEST(HeapMap, WhatEraseFindsChangedSomebodyHasChanged) {
  ScopedArena a;
  constexpr uint64_t kAddress = 0x7000;
  constexpr LiveSample kSample{{kAddress, 64, 512, 1, 1, 1}};
  constexpr uint64_t kOtherRate = 1024;
  constexpr uint32_t kOtherStack = 2;
  ASSERT_TRUE(a.live.insert(kSample));
  const uint64_t slot = a.live.find(kAddress).slot;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> changed_rates{0};
  std::atomic<uint64_t> changed_stacks{0};
  uint64_t other_rates = 0;
  uint64_t other_stacks = 0;
  run_threads(5, [&](int thread) {
    if (thread != 0) {
      LiveSample sample;
      HeapMap::Token token;
      while (!stop) {
        if (!a.live.read_slot(slot, &sample, &token)) {
          continue;
        }
        if (thread % 2 == 0) {
          changed_rates += a.live.change_rate(token, kSample.rate_bytes, kOtherRate);
        } else {
          changed_stacks += a.live.change_stack(token, kSample.stack_id, kOtherStack);
        }
      }
      return;
    }
    for (uint64_t i = 0; i < scaled(500000); ++i) {
      LiveSample erased{};
      EXPECT_TRUE(a.live.erase(kAddress, &erased));
      other_rates += erased.rate_bytes == kOtherRate;
      other_stacks += erased.stack_id == kOtherStack;
      EXPECT_TRUE(a.live.insert(kSample));
    }
    LiveSample erased{};
    stop = true;
    EXPECT_TRUE(a.live.erase(kAddress, &erased));
    other_rates += erased.rate_bytes == kOtherRate;
    other_stacks += erased.stack_id == kOtherStack;
  });
  EXPECT_EQ(changed_rates.load(), other_rates);
  EXPECT_EQ(changed_stacks.load(), other_stacks);
}

}  // namespace
}  // namespace memprof::heap_map_test
