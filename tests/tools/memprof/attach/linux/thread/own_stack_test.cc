// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/own_stack.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

MemoryRange range(uint64_t start, uint64_t end, bool is_writable, const std::string& path = "") {
  MemoryRange range;
  range.start = start;
  range.end = end;
  range.is_writable = is_writable;
  range.path = path;
  return range;
}

constexpr uint64_t kBegin = 0x7000'0000'0000, kEnd = kBegin + (uint64_t{8} << 20);

// The guard, and the stack above it.
const std::vector<MemoryRange> kStack = {range(kBegin - 4096, kBegin, false), range(kBegin, kEnd, true)};

TEST(OwnStack, IsWhatLiesBelowTheStackPointer) {
  const OwnStack stack = own_stack(kStack, kEnd - 10000, kEnd - 1000);
  EXPECT_EQ(stack.end, kEnd - 3 * 4096);  // below the red zone
  EXPECT_EQ(stack.begin, kBegin + 65536);
  EXPECT_EQ(own_stack(kStack, kBegin + 4096, kEnd - 1000).bytes(), 0u);  // nearly full
}

TEST(OwnStack, OfOthersNothingIsKnown) {
  // A coroutine's, or a signal stack: what belongs to the thread lies elsewhere.
  EXPECT_EQ(own_stack(kStack, kEnd - 10000, kEnd + 1000).bytes(), 0u);
  EXPECT_EQ(own_stack(kStack, kEnd - 10000, kEnd - 20000).bytes(), 0u);
  EXPECT_EQ(own_stack(kStack, kEnd + 10000, kEnd - 1000).bytes(), 0u);
  // Without a guard: it may be any memory of the program.
  EXPECT_EQ(own_stack({kStack[1]}, kEnd - 10000, kEnd - 1000).bytes(), 0u);
  EXPECT_EQ(own_stack({range(kBegin - 4096, kBegin, true), kStack[1]}, kEnd - 10000, kEnd - 1000).bytes(),
            0u);
  EXPECT_EQ(
      own_stack({range(kBegin - 8192, kBegin - 4096, false), kStack[1]}, kEnd - 10000, kEnd - 1000).bytes(),
      0u);
  EXPECT_EQ(
      own_stack({kStack[0], range(kBegin, kEnd, true, "/some/file")}, kEnd - 10000, kEnd - 1000).bytes(), 0u);
}

TEST(OwnStack, ThreadsOfTheCLibrary) {
  EXPECT_TRUE(is_of_c_library(static_cast<pid_t>(syscall(SYS_gettid))));
  EXPECT_FALSE(is_of_c_library(1 << 30));
}

}  // namespace
}  // namespace memprof::cli
