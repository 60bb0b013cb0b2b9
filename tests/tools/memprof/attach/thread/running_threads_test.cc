// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/thread/running_threads.h"

#include <gtest/gtest.h>

#include "memprof/attach/thread/thread_facts.h"
#include "memprof/attach/thread/traced_thread.h"
#include "tests/tools/memprof/attach/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

TEST(RunningThreads, HaveUsedAMillisecondOrATenthOfASecondIsOver) {
  TargetProcess target({"calculate"});
  const auto thread = static_cast<pid_t>(target.pid());
  const uint64_t used_before_ns = used_ns(target.pid(), thread);
  const int64_t begin_ns = monotonic_ns();
  wait_for_running_threads(target.pid());
  EXPECT_TRUE(used_ns(target.pid(), thread) - used_before_ns >= 1'000'000 ||
              monotonic_ns() - begin_ns >= 100'000'000);
  EXPECT_EQ(target.finish(), "ok");
}

// Its processor time does not grow: a wait for that would take the tenth of a second.
TEST(RunningThreads, ThatSleepAreNotWaitedFor) {
  TargetProcess target({"nanosleep"});
  int quick = 0;
  for (int i = 0; i < 10; ++i) {
    const int64_t begin_ns = monotonic_ns();
    wait_for_running_threads(target.pid());
    quick += monotonic_ns() - begin_ns < 100'000'000;
  }
  EXPECT_GT(quick, 0);
  EXPECT_EQ(target.finish(), "ok");
}

TEST(RunningThreads, OfAProcessThatIsGone) {
  wait_for_running_threads(0);
}

}  // namespace
}  // namespace memprof::cli
