// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/executed_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool nobody(const UnseenProcess&) {
  return false;
}

class ExecutedProgramsTest : public ::testing::Test {
 protected:
  std::vector<uint64_t> ids(const ExecutedPrograms::Found& found) {
    std::vector<uint64_t> all;
    for (const UnseenProcess& process : found.processes) all.push_back(process.pid);
    return all;
  }

  const std::unique_ptr<RunTally> tally_ = std::make_unique<RunTally>();
  ExecutedPrograms executed_{tally_.get()};
};

TEST_F(ExecutedProgramsTest, AreThoseThatMemprofDidNotBeginIn) {
  tally_->note_program(7, 1000, false, "/nowhere/tool", 5);
  tally_->note_program(8, 1000, false, "/nowhere/other", 6);
  tally_->note(8, 1000);
  tally_->note_program(9, 1000, false, "/nowhere/failed", 7);
  tally_->take_program_back(9);
  const ExecutedPrograms::Found found = executed_.take(nobody);
  ASSERT_THAT(ids(found), ElementsAre(7));
  EXPECT_EQ(found.more, 0u);
  EXPECT_EQ(found.processes[0].program, "tool");
  EXPECT_EQ(found.processes[0].process_start, 1000u);
  EXPECT_THAT(found.processes[0].why, HasSubstr("LD_PRELOAD"));
}

TEST_F(ExecutedProgramsTest, OfAProcessTheLastOneCounts) {
  tally_->note_program(7, 1000, false, "/nowhere/env", 5);
  executed_.look();
  tally_->note(7, 1000);
  tally_->note_program(7, 1000, true, "/nowhere/tool", 6);
  executed_.look();
  ExecutedPrograms::Found found = executed_.take(nobody);
  ASSERT_THAT(ids(found), ElementsAre(7));
  EXPECT_EQ(found.processes[0].program, "tool");
  EXPECT_EQ(found.more, 0u);
}

TEST_F(ExecutedProgramsTest, AProcessThatHadTheIdBeforeIsAnotherOne) {
  tally_->note_program(7, 1000, false, "/nowhere/one", 5);
  executed_.look();
  tally_->note_program(7, 9000, false, "/nowhere/two", 6);
  ExecutedPrograms::Found found = executed_.take(nobody);
  ASSERT_THAT(ids(found), ElementsAre(7, 7));
  EXPECT_EQ(found.processes[0].program, "one");
  EXPECT_EQ(found.processes[1].program, "two");
  EXPECT_EQ(found.more, 0u);
}

TEST_F(ExecutedProgramsTest, WhatIsKnownIsLeftOut) {
  for (uint64_t id = 1; id <= 4; ++id) tally_->note_program(id, 1000, false, "/nowhere/tool", 5);
  // Two that have no name any more.
  tally_->note_program(1 + RunTally::kPrograms, 1000, false, "/nowhere/tool", 6);
  tally_->note_program(2 + RunTally::kPrograms, 1000, false, "/nowhere/tool", 7);
  const ExecutedPrograms::Found found =
      executed_.take([](const UnseenProcess& process) { return process.pid == 1 || process.pid == 4; });
  EXPECT_THAT(ids(found), ElementsAre(3, 1 + RunTally::kPrograms, 2 + RunTally::kPrograms));
  EXPECT_EQ(found.more, 1u);
}

TEST_F(ExecutedProgramsTest, ManyAreKeptFromLookToLook) {
  for (uint64_t id = 1; id <= 1000; ++id) {
    tally_->note_program(id, 1000, false, "/nowhere/tool", id);
    if (id % 100 == 0) executed_.look();
  }
  const ExecutedPrograms::Found found = executed_.take(nobody);
  EXPECT_EQ(found.processes.size(), 1000u);
  EXPECT_EQ(found.more, 0u);
}

TEST_F(ExecutedProgramsTest, WithoutATallyThereAreNone) {
  ExecutedPrograms none(nullptr);
  none.look();
  const ExecutedPrograms::Found found = none.take(nobody);
  EXPECT_THAT(found.processes, IsEmpty());
  EXPECT_EQ(found.more, 0u);
}

}  // namespace
}  // namespace memprof::cli
