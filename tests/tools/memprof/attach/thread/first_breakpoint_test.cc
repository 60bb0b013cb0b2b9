// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/thread/first_breakpoint.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/attach/target_process.h"

namespace memprof::cli {
namespace {

TEST(FirstBreakpoint, IsMadeOnceAndLeavesNobody) {
  NEEDS_PTRACE();
  {
    FirstBreakpoint first;
    EXPECT_FALSE(first.is_made());
    first.make();
    first.make();
    EXPECT_TRUE(first.is_made());
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace memprof::cli
