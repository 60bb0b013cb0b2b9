// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/process/other_threads.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/engine.h"

namespace memprof::other_threads_test {
namespace {

using platform::wait_for_other_threads;
using testing_support::in_child;

constexpr uint64_t kLong = 30'000'000'000;
constexpr uint64_t kShort = 20'000'000;

TEST(OtherThreads, NoneIsNothingToWaitFor) {
  in_child([] { EXPECT_TRUE(wait_for_other_threads(kLong)); });
}

TEST(OtherThreads, OneThatSleepsAndOneThatRunsHaveLeft) {
  in_child([] {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<bool> stop{false};
    std::thread sleeper([&] {
      char byte;
      EXPECT_EQ(1, read(ends[0], &byte, 1));
    });
    std::thread runner([&] {
      while (!stop) {
      }
    });
    EXPECT_TRUE(wait_for_other_threads(kLong));
    stop = true;
    EXPECT_EQ(1, write(ends[1], "x", 1));
    sleeper.join();
    runner.join();
  });
}

// A debugger holds it where it is.
TEST(OtherThreads, OneThatIsHeldHasNotLeft) {
  in_child([] {
    std::atomic<pid_t> id{0};
    std::atomic<bool> stop{false};
    std::thread held([&] {
      id = static_cast<pid_t>(syscall(SYS_gettid));
      while (!stop) {
      }
    });
    while (id == 0) {
    }
    int ready[2];
    int done[2];
    ASSERT_EQ(0, pipe(ready));
    ASSERT_EQ(0, pipe(done));
    const pid_t tracer = fork();
    if (tracer == 0) {
      int status;
      const bool is_held = ptrace(PTRACE_SEIZE, id.load(), nullptr, nullptr) == 0 &&
                           ptrace(PTRACE_INTERRUPT, id.load(), nullptr, nullptr) == 0 &&
                           waitpid(id, &status, __WALL) == id;
      char byte = is_held ? 'y' : 'n';
      const bool is_told = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
      _exit(is_told ? 0 : 1);  // which lets it go
    }
    char answer = 0;
    ASSERT_EQ(1, read(ready[0], &answer, 1));
    if (answer == 'y') {
      EXPECT_FALSE(wait_for_other_threads(kShort));
    }
    ASSERT_EQ(1, write(done[1], "x", 1));
    int status;
    waitpid(tracer, &status, 0);
    EXPECT_TRUE(wait_for_other_threads(kLong));
    stop = true;
    held.join();
    if (answer != 'y') {
      GTEST_SKIP() << "ptrace is not allowed here";
    }
  });
}

}  // namespace
}  // namespace memprof::other_threads_test
