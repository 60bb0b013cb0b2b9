// SPDX-License-Identifier: Apache-2.0
// Real processes: tests/e2e/ship_test.py.
#include "memprof/ship/shipper.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

RunningProcess process_with(const std::string& arena) {
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  process.program = "own";
  process.arena = arena;
  return process;
}

TEST(Shipper, WhatCannotBeReadIsCountedAndNothingIsSent) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "a.arena", "no arena");
  Spool spool(folder / "s", 1 << 20);
  ShippedProcesses processes({}, {process_with(folder / "a.arena"), process_with(folder / "gone.arena")});
  size_t queued = 0;
  Shipper shipper(processes, spool, [&](const QueuedLook&) { ++queued; });
  shipper.look();
  EXPECT_EQ(queued, 0U);
  EXPECT_EQ(shipper.counts().unreadable, 1U);
  EXPECT_EQ(shipper.counts().lost_ends, 1U) << "it ended before it was seen";
  EXPECT_EQ(shipper.counts().processes, 2U);
  EXPECT_EQ(processes.all().size(), 1U);
  EXPECT_FALSE(processes.is_over());
}

}  // namespace
}  // namespace memprof::cli
