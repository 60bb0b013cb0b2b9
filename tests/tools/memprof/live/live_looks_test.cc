// SPDX-License-Identifier: Apache-2.0
// Processes with memprof in them are looked at in tests/e2e/live_test.py and live_terminal_test.py.
#include "memprof/live/live_looks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

RunningProcess own_process(const std::string& arena) {
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  process.program = "own";
  process.arena = arena;
  return process;
}

TEST(LiveLooks, WhatHasEndedIsSaid) {
  const testing_tools::Folder folder;
  const std::string pid = std::to_string(getpid());
  LiveLooks one({own_process(folder / "gone.arena")}, false, AskServers::kNo);
  EXPECT_FALSE(one.is_there());
  EXPECT_EQ(one.ending(), "process " + pid + " has ended");
  EXPECT_THROW(one.look(), profile::Error);
  LiveLooks two({own_process(folder / "a.arena"), own_process(folder / "b.arena")}, false, AskServers::kNo);
  EXPECT_FALSE(two.is_there());
  EXPECT_EQ(two.ending(), "all 2 processes have ended");
  EXPECT_THROW(two.look(), profile::Error);
  testing_tools::write_file(folder / "b.arena", "no arena");
  EXPECT_TRUE(two.is_there());
  EXPECT_THROW(two.look(), profile::Error) << "what cannot be read of the only one that is there";
}

TEST(LiveLooks, ARunIsNeededForAllOfIt) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "a.arena", "no arena");
  EXPECT_THROW(LiveLooks({own_process(folder / "a.arena")}, true, AskServers::kNo), Failure);
}

}  // namespace
}  // namespace memprof::cli
