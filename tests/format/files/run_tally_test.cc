// SPDX-License-Identifier: Apache-2.0
#include "format/files/run_tally.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace memprof {
namespace {

TEST(RunTallyTest, AProcessCountsOnce) {
  const auto tally = std::make_unique<RunTally>();
  tally->note(7, 100);
  EXPECT_TRUE(tally->has(7, 100));
  tally->note(7, 100);  // it executed another program
  EXPECT_EQ(1u, tally->processes.load());
  tally->note(7, 300);  // another one, to which its id came
  EXPECT_EQ(2u, tally->processes.load());
  EXPECT_FALSE(tally->has(7, 100));
  EXPECT_TRUE(tally->has(7, 300));
  EXPECT_FALSE(tally->has(8, 300));
}

TEST(RunTallyTest, AForkChildThatExecutesAProgramCountsOnce) {
  const auto tally = std::make_unique<RunTally>();
  tally->note_new(7, 1001);  // it looked at the clock a moment later
  tally->note(7, 1000);
  EXPECT_EQ(1u, tally->processes.load());
  tally->note_new(7, 1002);  // another one, at once
  EXPECT_EQ(2u, tally->processes.load());
  // The clock is as old as the machine.
  const uint64_t late = (uint64_t{1} << 40) - 1;
  tally->note_new(8, late + 2);
  tally->note(8, late);
  EXPECT_EQ(3u, tally->processes.load());
  EXPECT_TRUE(tally->has(8, late));
}

TEST(RunTallyTest, OfManyThatRunAtOnceEachCounts) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 20000;
  const auto tally = std::make_unique<RunTally>();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&tally, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        tally->note(1 + i * kThreads + t, t);
        tally->note(1 + i * kThreads + t, t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Others may come to a slot between the two.
  EXPECT_GE(tally->processes.load(), kThreads * kEach);
  EXPECT_LE(tally->processes.load(), kThreads * kEach + kEach / 100);
}

}  // namespace
}  // namespace memprof
