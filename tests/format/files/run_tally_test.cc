// SPDX-License-Identifier: Apache-2.0
#include "format/files/run_tally.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
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
  tally->note(7, 3000);  // another one, to which its id came
  EXPECT_EQ(2u, tally->processes.load());
  EXPECT_FALSE(tally->has(7, 100));
  EXPECT_TRUE(tally->has(7, 3000));
  EXPECT_FALSE(tally->has(8, 3000));
}

TEST(RunTallyTest, AForkChildThatExecutesAProgramCountsOnce) {
  const auto tally = std::make_unique<RunTally>();
  tally->note_new(7, 1001);  // it looked at the clock a moment later
  tally->note(7, 1000);
  EXPECT_EQ(1u, tally->processes.load());
  tally->note_new(7, 1002);  // another one, at once
  EXPECT_EQ(2u, tally->processes.load());
  // The clock is as old as the machine.
  const uint64_t late = (uint64_t{1} << 38) - 1;
  tally->note_new(8, late + 2);
  tally->note(8, late);
  EXPECT_EQ(3u, tally->processes.load());
  EXPECT_TRUE(tally->has(8, late));
}

// Who executes something that memprof did not begin in, of slot 7.
uint64_t executing(const RunTally& tally) {
  return tally.executing_in(7).id;
}

TEST(RunTallyTest, AProgramIsOneUntilMemprofBeginsInIt) {
  const auto tally = std::make_unique<RunTally>();
  tally->note(7, 1000);
  tally->note_program(7, 1000, true, "/bin/a", 5);
  EXPECT_EQ(1u, tally->executing.load());
  EXPECT_EQ(7u, executing(*tally));
  EXPECT_TRUE(tally->has(7, 1000));
  EXPECT_FALSE(tally->is_over({7, 1000}));
  const RunTally::Program& program = tally->programs[7];
  EXPECT_EQ(5u, program.when_ns.load());
  EXPECT_EQ('/', program.path[0].load());
  EXPECT_EQ('\0', program.path[6].load());
  EXPECT_TRUE(RunTally::is_same({7, 1000}, RunTally::process_of(program)));
  tally->note(7, 1000);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_EQ(0u, executing(*tally));
  EXPECT_TRUE(tally->is_over({7, 1000}));
  EXPECT_EQ(1u, tally->processes.load());
}

TEST(RunTallyTest, WhatCannotBeExecutedIsTakenBack) {
  const auto tally = std::make_unique<RunTally>();
  // A vfork child tries two, and the second one has memprof.
  tally->note_program(7, 1000, false, "a", 5);
  tally->take_program_back(7);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_TRUE(tally->is_over({7, 1000}));
  EXPECT_FALSE(tally->has(7, 1000));
  tally->take_program_back(7);
  tally->take_program_back(8);
  tally->note_program(7, 1000, false, "b", 6);
  EXPECT_EQ(1u, tally->executing.load());
  tally->note(7, 999);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_EQ(1u, tally->processes.load());
  EXPECT_TRUE(tally->has(7, 999));
}

TEST(RunTallyTest, ASpawnedProgramMayHaveBegunBeforeItIsNoted) {
  const auto tally = std::make_unique<RunTally>();
  tally->note(7, 1000);
  tally->note_spawned(7, 1000, "a", 5);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_EQ(0u, tally->programs[7].when_ns.load());
  tally->note_spawned(8, 1000, "b", 6);
  EXPECT_EQ(1u, tally->executing.load());
  tally->note(8, 1000);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_EQ(2u, tally->processes.load());
}

// A machine with much to do: between what a process is and what it notes are some seconds.
TEST(RunTallyTest, WhatIsNotedLateIsOfTheSameProcess) {
  const auto tally = std::make_unique<RunTally>();
  tally->note_new(7, 1500);
  tally->note_program(7, 1500, true, "a", 5);
  EXPECT_FALSE(tally->is_over({7, 1500}));
  tally->note(7, 1000);
  EXPECT_EQ(1u, tally->processes.load());
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_TRUE(tally->is_over({7, 1500}));
  tally->note_program(8, 1500, false, "a", 5);
  tally->note(8, 1000);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_TRUE(tally->is_over({8, 1500}));
  tally->note(9, 1500);
  tally->note_spawned(9, 1000, "a", 5);
  EXPECT_EQ(0u, tally->executing.load());
  EXPECT_TRUE(RunTally::is_same({9, 1000}, {9, 1500}));
  EXPECT_FALSE(RunTally::is_same({9, 1500}, {9, 1000}));
  EXPECT_FALSE(RunTally::is_same({9, 1500}, {8, 1500}));
}

TEST(RunTallyTest, AnIdThatComesAgainTakesNothingFromWhoHadIt) {
  const auto tally = std::make_unique<RunTally>();
  tally->note(7, 1000);
  tally->note_program(7, 1000, true, "a", 5);
  tally->note_new(7, 5000);
  EXPECT_EQ(1u, tally->executing.load());
  tally->note_program(7, 5000, true, "b", 6);
  tally->note(7, 5000);
  EXPECT_EQ(1u, tally->executing.load());
  tally->note_program(7, 5000, true, "c", 7);
  tally->note(7, 9000);  // by a way that nobody saw
  EXPECT_EQ(2u, tally->executing.load());
  EXPECT_EQ(3u, tally->processes.load());
}

TEST(RunTallyTest, ALongPathIsCut) {
  const auto tally = std::make_unique<RunTally>();
  const std::string path(1000, 'x');
  tally->note_program(7, 1, true, path.c_str(), 5);
  for (const std::atomic<char>& c : tally->programs[7].path) {
    EXPECT_EQ('x', c.load());
  }
  EXPECT_EQ(0u, tally->programs[8].when_ns.load());
}

constexpr uint64_t kThreads = 4;
constexpr uint64_t kEach = 20000;

template <typename Work>
void in_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&work, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        work(t, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RunTallyTest, OfManyThatRunAtOnceEachCountsOnce) {
  constexpr uint64_t kOfAThread = RunTally::kSlots / kThreads;
  const auto tally = std::make_unique<RunTally>();
  in_threads([&tally](uint64_t t, uint64_t i) {
    const uint64_t id = t * kOfAThread + i % kOfAThread + i / kOfAThread * RunTally::kSlots;
    tally->note(id, t);
    tally->note(id, t);
  });
  EXPECT_EQ(kThreads * kEach, tally->processes.load());
}

TEST(RunTallyTest, OfManyThatShareASlotEachCounts) {
  constexpr uint64_t kApart = 5000;  // more than the start of one process may differ
  const auto tally = std::make_unique<RunTally>();
  in_threads([&tally](uint64_t t, uint64_t i) {
    const uint64_t start = (i * kThreads + t) * kApart;
    tally->note(7, start);
    tally->note(7 + RunTally::kSlots, start);
  });
  EXPECT_EQ(2 * kThreads * kEach, tally->processes.load());
}

}  // namespace
}  // namespace memprof
