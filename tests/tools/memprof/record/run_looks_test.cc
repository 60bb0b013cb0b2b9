// SPDX-License-Identifier: Apache-2.0
// Runs are looked at in tests/e2e/series_test.py and oom_test.py.
#include "memprof/record/run_looks.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(RunLooks, WhatIsNoArenaOfTheRunIsLeftOut) {
  const testing_tools::Folder folder;
  EXPECT_TRUE(look_at_run(folder / "gone", 1, nullptr).profiles.empty());
  testing_tools::write_file(folder / "memprof-1-2-3.arena", "no arena");
  testing_tools::write_file(folder / "other", "no arena");
  std::map<uint64_t, ResidentReads> resident;
  const RunLook look = look_at_run(folder.path(), 1, &resident);
  EXPECT_TRUE(look.profiles.empty());
  EXPECT_TRUE(look.pids.empty());
  EXPECT_TRUE(resident.empty());
}

}  // namespace
}  // namespace memprof::cli
