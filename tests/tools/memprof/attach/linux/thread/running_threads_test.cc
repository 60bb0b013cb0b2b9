// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/running_threads.h"

#include <gtest/gtest.h>

#include "memprof/attach/linux/thread/thread_facts.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

TEST(RunningThreads, HaveUsedAMillisecond) {
  TargetProcess target({"calculate"});
  const auto thread = static_cast<pid_t>(target.pid());
  const uint64_t used_before_ns = used_ns(target.pid(), thread);
  if (wait_for_running_threads(target.pid())) {
    EXPECT_GE(used_ns(target.pid(), thread) - used_before_ns, 1'000'000u);
  }
  EXPECT_EQ(target.finish(), "ok");
}

// They use less than that in a tenth of a second.
TEST(RunningThreads, ThatSleepAreNotWaitedFor) {
  TargetProcess target({"nanosleep"});
  bool have_left = false;
  for (int i = 0; i < 10 && !have_left; ++i) have_left = wait_for_running_threads(target.pid());
  EXPECT_TRUE(have_left);
  EXPECT_EQ(target.finish(), "ok");
}

TEST(RunningThreads, OfAProcessThatIsGone) {
  EXPECT_TRUE(wait_for_running_threads(0));
}

}  // namespace
}  // namespace memprof::cli
