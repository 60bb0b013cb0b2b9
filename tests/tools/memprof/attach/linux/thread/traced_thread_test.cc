// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/traced_thread.h"

#include <gtest/gtest.h>

#include "memprof/attach/linux/target/survey.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using Stop = TracedThread::Stop;
using testing_tools::TargetProcess;

constexpr int64_t kSecond = 1'000'000'000;

TEST(TracedThread, StopsAndGoesOn) {
  NEEDS_PTRACE();
  TargetProcess process({"epoll_wait"});
  {
    TracedThread thread(static_cast<pid_t>(process.pid()));
    ASSERT_EQ(thread.error(), 0);
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(thread.interrupt(10 * kSecond), Stop::kEvent);
      EXPECT_TRUE(thread.is_stopped());
      EXPECT_TRUE(thread.resume());
      EXPECT_EQ(thread.wait(1'000'000), Stop::kTimeout);
    }
    uint64_t mask = 0;
    EXPECT_EQ(thread.interrupt(10 * kSecond), Stop::kEvent);
    EXPECT_TRUE(thread.set_signal_mask(0x200));
    EXPECT_TRUE(thread.signal_mask(&mask));
    EXPECT_EQ(mask, 0x200u);
    EXPECT_TRUE(thread.set_signal_mask(0));
    EXPECT_FALSE(thread.is_in_restartable_sequence());
    EXPECT_EQ(thread.to_system_call(10 * kSecond), Stop::kSystemCall);
  }
  EXPECT_EQ(process.finish(), "ok");
}

TEST(TracedThread, ThreadsThatAreGone) {
  NEEDS_PTRACE();
  TracedThread none(1 << 22);
  EXPECT_NE(none.error(), 0);
  EXPECT_EQ(none.interrupt(kSecond), Stop::kGone);
}

TEST(TracedThread, StoppedByASignal) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  {
    TracedThread thread(static_cast<pid_t>(process.pid()));
    kill(static_cast<pid_t>(process.pid()), SIGSTOP);
    EXPECT_EQ(thread.wait(10 * kSecond), Stop::kGroup);
  }
  kill(static_cast<pid_t>(process.pid()), SIGCONT);
  process.finish();
}

}  // namespace
}  // namespace memprof::cli
