// SPDX-License-Identifier: Apache-2.0
#include "platform/stack.h"

#include <gtest/gtest.h>

#include <thread>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

[[gnu::noinline]] bool is_callee_gone(uint64_t caller) {
  const uint64_t own = address_of(__builtin_frame_address(0));
  return is_frame_gone(own, caller);
}

TEST(WindowsStack, AFrameIsGoneWhereTheStackIsShorter) {
  const uint64_t own = address_of(__builtin_frame_address(0));
  EXPECT_TRUE(is_callee_gone(own));
  EXPECT_FALSE(is_frame_gone(own + 64, own));
  EXPECT_FALSE(is_frame_gone(own, own));
  uint64_t others = 0;
  std::thread([&] {
    others = address_of(__builtin_frame_address(0));
    EXPECT_FALSE(is_frame_gone(own, others));
  }).join();
  EXPECT_FALSE(is_frame_gone(others, own));
}

TEST(WindowsStack, HasRoomUntilItsEnd) {
  const Entry entry{__builtin_frame_address(0)};
  EXPECT_TRUE(has_stack_for_walk(entry, 0));
  EXPECT_FALSE(has_stack_for_walk(entry, size_t{1} << 40));
  EXPECT_FALSE(is_on_signal_stack());
}

}  // namespace
}  // namespace memprof::platform
