// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/stack_memory.h"

#include <gtest/gtest.h>

namespace memprof::stack_memory_test {
namespace {

using unwind::StackBounds;
using unwind::StackMemory;

TEST(StackMemory, ContainsWholeWordsOnly) {
  StackMemory stack({4096, 8192});
  EXPECT_FALSE(stack.contains(4088));
  EXPECT_TRUE(stack.contains(4096));
  EXPECT_TRUE(stack.contains(8184));
  EXPECT_FALSE(stack.contains(8185));
  EXPECT_FALSE(stack.contains(8192));
  EXPECT_FALSE(stack.contains(UINT64_MAX));
  EXPECT_TRUE(stack.is_whole());
}

TEST(StackMemory, WithoutMemoryContainsNothing) {
  for (const StackBounds& bounds : {StackBounds{0, 0}, StackBounds{0, 7}, StackBounds{4096, 4096}}) {
    StackMemory stack(bounds);
    for (const uint64_t address :
         {uint64_t{0}, uint64_t{8}, uint64_t{4096}, uint64_t{0x7fff00000000}, uint64_t{UINT64_MAX} - 7}) {
      uint64_t value = 0;
      EXPECT_FALSE(stack.read(address, &value)) << address << " in " << bounds.low << " to " << bounds.high;
    }
  }
}

TEST(StackMemory, GrowsWhileThereIsMore) {
  StackMemory stack({4096, 8192, [](uint64_t high) { return high < 20480 ? high + 4096 : high; }});
  EXPECT_FALSE(stack.is_whole());
  EXPECT_TRUE(stack.contains(12288));
  EXPECT_EQ(16384u, stack.high());
  EXPECT_FALSE(stack.contains(1 << 20));
  EXPECT_EQ(20480u, stack.high());
  EXPECT_TRUE(stack.is_whole());
  EXPECT_FALSE(stack.contains(4088));
}

}  // namespace
}  // namespace memprof::stack_memory_test
