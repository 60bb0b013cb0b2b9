// SPDX-License-Identifier: Apache-2.0
#include "platform/stack.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"

namespace memprof::reference_stack_test {
namespace {

TEST(ReferenceStack, IsTheCallerOfTheHook) {
  const testing_support::FakeStack stack(0x401000);
  uint64_t frames[4] = {};
  EXPECT_TRUE(platform::has_stack_for_walk(stack.entry(), 1 << 20));
  const platform::WalkResult walk = platform::capture_stack(stack.entry(), frames, 4);
  EXPECT_EQ(1u, walk.depth);
  EXPECT_EQ(Walk::kNoRule, walk.reason);
  EXPECT_EQ(0x401000u, frames[0]);
  EXPECT_EQ(0u, frames[1]);
  EXPECT_EQ(0u, platform::capture_stack(stack.entry(), frames, 0).depth);
  EXPECT_FALSE(platform::is_frame_gone(1, 2));
  platform::forget_code();
}

TEST(StackRange, WhatLiesBelowARunningFrameIsGone) {
  const platform::StackRange stack{0x1000, 0x2000};
  EXPECT_TRUE(stack.is_gone(0x1800, 0x1900));
  EXPECT_FALSE(stack.is_gone(0x1900, 0x1800));
  EXPECT_FALSE(stack.is_gone(0x1800, 0x1800));
  EXPECT_FALSE(stack.is_gone(0xfff, 0x1800));   // on another stack
  EXPECT_FALSE(stack.is_gone(0x1800, 0x2000));  // likewise
}

}  // namespace
}  // namespace memprof::reference_stack_test
