// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace memprof::platform {
namespace {

TEST(WindowsThreads, StandStill) {
  std::atomic<uint64_t> count{0};
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!ends) ++count;
    });
  }
  for (int round = 0; round < 20; ++round) {
    bool is_still = false;
    bool is_complete = false;
    {
      const ThreadsSuspended suspended;
      is_complete =
          suspended.is_complete() && !suspended.is_any_inside(8, 8);  // which waits until they stand
      const uint64_t before = count;
      for (volatile int i = 0; i < 1000000; i = i + 1) {
      }
      is_still = count == before;
    }
    EXPECT_TRUE(is_complete);
    EXPECT_TRUE(is_still);
  }
  const uint64_t before = count;
  while (count == before) {
    std::this_thread::yield();
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace memprof::platform
