// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/process/thread_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "platform/thread_slot.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

TEST(WindowsThreadData, IsZeroedAndOfEachThread) {
  ASSERT_TRUE(has_own_thread_data());
  void* const own = thread_data();
  EXPECT_EQ(thread_data(), own);
  void* other = nullptr;
  bool is_zero = true;
  std::thread([&] {
    other = thread_data();
    for (size_t i = 0; i < kThreadDataBytes; ++i) {
      is_zero = is_zero && static_cast<const char*>(other)[i] == 0;
    }
  }).join();
  EXPECT_NE(other, own);
  EXPECT_TRUE(is_zero);
}

TEST(WindowsThreadData, OfThreadsThatAreGoneIsGivenAwayAndCleared) {
  constexpr int kThreads = 2000;
  std::set<void*> states;
  bool is_zero = true;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&] {
      auto* data = static_cast<char*>(thread_data());
      for (size_t k = 0; k < kThreadDataBytes; ++k) {
        is_zero = is_zero && data[k] == 0;
      }
      memset(data, 1, kThreadDataBytes);
      states.insert(data);
    }).join();
  }
  EXPECT_TRUE(is_zero);
  EXPECT_LT(states.size(), kThreads / 4u);
}

TEST(WindowsThreadData, KeepsTheLastError) {
  DWORD error = 0;
  std::thread([&] {
    SetLastError(1234);
    thread_data();
    error = GetLastError();
  }).join();
  EXPECT_EQ(error, 1234u);
}

}  // namespace
}  // namespace memprof::platform
