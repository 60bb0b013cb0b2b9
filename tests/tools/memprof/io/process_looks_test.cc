// SPDX-License-Identifier: Apache-2.0
// Processes with memprof in them are looked at in tests/e2e/live_test.py and diff_test.py.
#include "memprof/io/process_looks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(ProcessLooks, WhatHasNoArenaIsNotThere) {
  const testing_tools::Folder folder;
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  process.arena = folder / "gone.arena";
  ProcessLooks looks(process, AskServers::kNo);
  EXPECT_FALSE(looks.is_there());
  EXPECT_EQ(looks.process().pid, process.pid);
  EXPECT_THROW(looks.look(true), profile::Error);
  testing_tools::write_file(process.arena, "no arena");
  EXPECT_TRUE(looks.is_there());
  EXPECT_THROW(looks.look(false), profile::Error);
}

}  // namespace
}  // namespace memprof::cli
