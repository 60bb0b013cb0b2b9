// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/frame_list.h"

#include "platform/stack.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::unwind {
namespace {

using platform::Walk;

constexpr uint32_t kRootEnd = FrameList::kRootFrames;

struct Result {
  std::vector<uint64_t> frames;
  Walk reason;
  uint32_t taken;
};

// Adds 1000, 1001, ... one by one (step 0), or as a loop of its own that stops at each limit.
Result collect(uint32_t count, uint32_t max_depth, Walk reason, bool by_loop) {
  std::vector<uint64_t> memory(max_depth + 1, 0xdead);
  FrameList list(memory.data(), max_depth);
  uint32_t taken = 0;
  while (taken < count) {
    if (by_loop) {
      uint64_t* next = list.next();
      for (; next != list.limit() && taken < count; ++taken) {
        *next++ = 1000 + taken;
      }
      list.advance_to(next);
    }
    if (taken < count && !list.add(1000 + taken++)) {
      --taken;
      reason = Walk::kDepthLimit;
      break;
    }
  }
  const platform::WalkResult result = list.end(reason);
  EXPECT_EQ(0xdeadu, memory[max_depth]) << "wrote behind the end";
  memory.resize(result.depth);
  return {memory, result.reason, taken};
}

// What must come out.
std::vector<uint64_t> numbers(uint32_t first, uint32_t last) {
  std::vector<uint64_t> all;
  for (uint32_t i = first; i < last; ++i) {
    all.push_back(1000 + i);
  }
  return all;
}

TEST(FrameList, AllOfAStackThatIsNoDeeperThanTheLimit) {
  for (const bool by_loop : {false, true}) {
    for (const uint32_t count : {0u, 1u, 63u, 64u}) {
      for (const Walk reason : {Walk::kRoot, Walk::kNoRule}) {
        const Result r = collect(count, 64, reason, by_loop);
        EXPECT_EQ(numbers(0, count), r.frames);
        EXPECT_EQ(reason, r.reason);
      }
    }
  }
}

TEST(FrameList, BothEndsOfADeeperOne) {
  for (const bool by_loop : {false, true}) {
    for (const uint32_t max_depth : {64u, 65u, 128u, 1000u}) {
      // Frames are taken in whole tails.
      const uint32_t max = max_depth + (FrameList::kMaxFrames - max_depth) / kRootEnd * kRootEnd;
      for (uint32_t count = max_depth + 1; count <= max; ++count) {
        const Result r = collect(count, max_depth, Walk::kRoot, by_loop);
        ASSERT_EQ(count, r.taken);
        std::vector<uint64_t> expected = numbers(0, max_depth - kRootEnd - 1);
        expected.push_back(platform::kFramesLeftOut);
        const std::vector<uint64_t> root = numbers(count - kRootEnd, count);
        expected.insert(expected.end(), root.begin(), root.end());
        ASSERT_EQ(expected, r.frames) << count << " of " << max_depth;
        ASSERT_EQ(Walk::kMiddleLeftOut, r.reason);
      }
    }
  }
}

TEST(FrameList, TheLeafEndIfTheRootIsNotReached) {
  for (const bool by_loop : {false, true}) {
    for (const uint32_t count : {65u, 70u, 80u, 81u, 97u, 500u}) {
      for (const Walk reason : {Walk::kBadFrame, Walk::kLeftStack, Walk::kNoRule}) {
        const Result r = collect(count, 64, reason, by_loop);
        EXPECT_EQ(numbers(0, 64), r.frames);
        EXPECT_EQ(Walk::kDepthLimit, r.reason);
      }
    }
    const Result r = collect(100000, 64, Walk::kRoot, by_loop);
    EXPECT_EQ(numbers(0, 64), r.frames);
    EXPECT_EQ(Walk::kDepthLimit, r.reason);
    EXPECT_EQ(FrameList::kMaxFrames, r.taken) << "no longer walk";
  }
}

TEST(FrameList, ALimitThatIsTooSmallOrTheLargestKeepsTheLeafEndOnly) {
  for (const bool by_loop : {false, true}) {
    for (const uint32_t max_depth : {1u, 2u, 63u, 1024u}) {
      const Result r = collect(max_depth + 1, max_depth, Walk::kRoot, by_loop);
      EXPECT_EQ(numbers(0, max_depth), r.frames);
      EXPECT_EQ(Walk::kDepthLimit, r.reason);
      EXPECT_EQ(max_depth, r.taken);
    }
  }
}

}  // namespace
}  // namespace memprof::unwind
