// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/safe_point.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/stopped_thread.h"

namespace memprof::cli {
namespace {

using testing_tools::StoppedThread;
using testing_tools::TargetProcess;

TEST(SafePoint, AWaitIsOne) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  EXPECT_EQ(stopped.point.stops, 1);
  EXPECT_TRUE(
      judge(stopped.target, stopped.point.memory, stopped.walker, stopped.thread, stopped.point.registers)
          .is_safe);
}

TEST(SafePoint, UnsafeCodeAnywhereInTheStack) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  const RemoteStack::Walk walk =
      stopped.walker.walk(stopped.thread.id(), stopped.point.registers, stopped.point.memory, {}, 0);
  ASSERT_GE(walk.frames.size(), 4u);
  const uint64_t caller = walk.frames[2].address;
  stopped.target.unsafe.add({caller, caller + 1}, "a caller");
  const SafeVerdict verdict =
      judge(stopped.target, stopped.point.memory, stopped.walker, stopped.thread, stopped.point.registers);
  EXPECT_FALSE(verdict.is_safe);
  EXPECT_EQ(verdict.why, "a caller");
}

TEST(SafePoint, NeverThere) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  Target target = survey(process.pid());
  target.unsafe.add({0, UINT64_MAX}, "everything");
  RemoteStack walker(process.pid(), TargetMemory(process.pid(), TargetMemory::Access::kRead), target.images,
                     places_in(target));
  {
    TracedThread thread(static_cast<pid_t>(process.pid()));
    try {
      reach_safe_point(target, walker, &thread);
      FAIL() << "it is never safe";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), kRefused);
      EXPECT_NE(std::string(failure.what()).find("it was in everything"), std::string::npos)
          << failure.what();
    }
  }
  EXPECT_EQ(process.finish(), "ok");
}

// At any moment of the search: nothing of it stays in the thread, which a breakpoint of the processor would.
TEST(SafePoint, AKilledSearchLeavesNothing) {
  NEEDS_PTRACE();
  constexpr int kRounds = 10;  // with breakpoints, one would be set in about half of these moments
  for (int round = 0; round < kRounds; ++round) {
    TargetProcess process({"calculate"});
    Target target = survey(process.pid());
    for (const MemoryRange& range : target.ranges) {  // what it returns to in the end is none of it
      if (range.is_code && range.path == testing_tools::fixture("attached"))
        target.unsafe.add({range.start, range.end}, "it");
    }
    const pid_t tracer = fork();
    if (tracer == 0) {
      RemoteStack walker(process.pid(), TargetMemory(process.pid(), TargetMemory::Access::kRead),
                         target.images, places_in(target));
      TracedThread thread(static_cast<pid_t>(process.pid()));
      if (thread.error() != 0) _exit(2);  // only ancestors may
      try {
        reach_safe_point(target, walker, &thread);
      } catch (const Failure&) {
      }
      _exit(1);
    }
    usleep(static_cast<useconds_t>(40'000 + 7'000 * round));
    kill(tracer, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(tracer, &status, 0), tracer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
      GTEST_SKIP() << "the system lets only ancestors trace a process";
    EXPECT_TRUE(WIFSIGNALED(status)) << "it searched until then";
    EXPECT_EQ(process.finish(), "ok") << round;
  }
}

}  // namespace
}  // namespace memprof::cli
