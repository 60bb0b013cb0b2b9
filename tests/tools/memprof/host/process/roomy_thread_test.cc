// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/roomy_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace memprof::cli {
namespace {

// More of the stack than the limit below allows.
[[gnu::noinline]] int use_stack(size_t bytes) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (size_t at = 0; at < bytes; at += 1024) room[at] = 1;
  return room[bytes / 2048 * 1024] == 1 ? 7 : 8;
}

constexpr size_t kMuch = 400u << 10;

void limit_stacks() {
  const rlimit little{128u << 10, 128u << 10};
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &little), 0);
}

TEST(RoomyThread, HasRoomWhateverTheLimitOfStacks) {
  EXPECT_EXIT(
      {
        limit_stacks();
        int result = 0;
        RoomyThread thread;
        if (!thread.start([&] { result = use_stack(kMuch); })) _exit(1);
        thread.join();
        _exit(result);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(RoomyThread, RunsTheWholeCommandUnderALittleLimit) {
  EXPECT_EXIT(
      {
        limit_stacks();
        _exit(run_with_room([] { return use_stack(kMuch); }));
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(RoomyThread, SignalsComeToTheWorkOfTheWholeCommandOnly) {
  const auto blocks_term = [] {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, SIGTERM);
  };
  EXPECT_EQ(run_with_room(blocks_term), 0);
  EXPECT_EXIT(
      {
        limit_stacks();
        _exit(run_with_room(blocks_term));
      },
      ::testing::ExitedWithCode(0), "");
  int blocked = 0;
  RoomyThread thread;
  ASSERT_TRUE(thread.start([&] { blocked = blocks_term(); }));
  thread.join();
  EXPECT_EQ(blocked, 1);
}

TEST(RoomyThread, KnowsWhatItUsedOfTheProcessor) {
  const auto before = processor_time_of_thread();
  while (processor_time_of_thread() - before < std::chrono::milliseconds(2)) {
  }
  RoomyThread thread;
  std::chrono::nanoseconds used{};
  ASSERT_TRUE(thread.start([&] { used = processor_time_of_thread(); }));
  thread.join();
  EXPECT_LT(used, processor_time_of_thread());  // of its own only
}

}  // namespace
}  // namespace memprof::cli
