// SPDX-License-Identifier: Apache-2.0
// Code without a table, left by frame records.
#include "unwind/walk/frame_record.h"

#include "platform/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unwind/hand_made_code.h"

namespace memprof::frame_record_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using platform::Walk;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class FrameRecordWalk : public TableWalk {
 protected:
  // Both walks see these frames, and end so.
  void expect(const Start& start, const StackBounds& stack, const std::vector<uint64_t>& frames,
              Walk reason) {
    const Walked w = walk(start, stack);
    EXPECT_THAT(w.frames, ElementsAreArray(frames));
    EXPECT_EQ(reason, w.reason);
    const Walked full = walk_full(start, {stack.low - 16, stack.high, stack.grow});
    EXPECT_THAT(full.frames, ElementsAreArray(frames));
    EXPECT_EQ(reason, full.reason);
  }
};

// As make_fcontext: the coroutine's first function returns to a place that no call leads to.
TEST_F(FrameRecordWalk, AFirstFrameMadeByHandIsTheRoot) {
  put(10, {1, in(kPushesBp)});
  put(12, {in(kGap), in(kGap)});
  put(14, {in(kGap, 3)});
  const Start start{in(kFlat), at(10), 0};
  const std::vector<uint64_t> frames = {in(kFlat), in(kPushesBp), in(kGap, 3)};
  world_.no_call_sites = {in(kGap, 3)};
  expect(start, bounds(10), frames, Walk::kRoot);
  // A call leads there: it is a frame that nothing is known of.
  world_.no_call_sites = {};
  expect(start, bounds(10), frames, Walk::kNoRule);
}

TEST_F(FrameRecordWalk, WhatIsMadeByHandOutsideOfModulesIsUnknown) {
  // Code that was made at run time returns to what it likes.
  put(10, {1, in(kElsewhere)});
  world_.no_call_sites = {in(kElsewhere)};
  expect({in(kFlat), at(10), 0}, bounds(10), {in(kFlat), in(kElsewhere)}, Walk::kNoRule);
  // Nor is the caller of malloc known as the first frame of a stack.
  world_.no_call_sites = {in(kGap)};
  expect({in(kGap), at(10), 0}, bounds(10), {in(kGap)}, Walk::kNoRule);
}

// As the JVM's interpreter: return addresses that it pushed.
TEST_F(FrameRecordWalk, AnInterpreterPushesReturnAddresses) {
  world_.no_call_sites = {in(kElsewhere, 8), in(kElsewhere, 9)};
  put(10, {1, in(kElsewhere, 7)});
  put(20, {at(24), in(kElsewhere, 8)});
  put(24, {at(30), in(kElsewhere, 9)});
  put(30, {at(3), in(kFlat)});  // the stub that C called: what its caller had in the register, is anything
  put(32, {3, in(kFirst)});
  const Start start{in(kFlat), at(10), at(20)};
  expect(start, bounds(10),
         {in(kFlat), in(kElsewhere, 7), in(kElsewhere, 8), in(kElsewhere, 9), in(kFlat), in(kFirst)},
         Walk::kRoot);
  // Not if the caller's record is not further up, or not on the stack, or the code is far away or a module's.
  const std::vector<uint64_t> cut = {in(kFlat), in(kElsewhere, 7)};
  for (const uint64_t bp : {at(20), at(12), at(255), at(300), at(24) + 4, uint64_t{0}}) {
    put(20, {bp});
    expect(start, bounds(10), cut, Walk::kNoRule);
  }
  const uint64_t far = in(kElsewhere) + (uint64_t{1} << 28);
  for (const uint64_t pc : {far, in(kGap), in(kFlat)}) {
    world_.no_call_sites = {pc};
    put(20, {at(24), pc});
    expect(start, bounds(10), cut, Walk::kNoRule);
  }
}

// As runtime.goexit, which nobody called.
TEST_F(FrameRecordWalk, AFramePointerOfZeroEndsTheChain) {
  world_.no_call_sites = {in(kGap, 50)};
  put(10, {1, in(kGap, 20)});
  put(20, {0, in(kGap, 50)});
  const Start start{in(kFlat), at(10), at(20)};
  expect(start, bounds(10), {in(kFlat), in(kGap, 20), in(kGap, 50)}, Walk::kRoot);
  put(20, {1});
  expect(start, bounds(10), {in(kFlat), in(kGap, 20)}, Walk::kNoRule);
}

// As crosscall2.
TEST_F(FrameRecordWalk, ARecordThatPointsToTheOneRightAboveIt) {
  world_.no_call_sites = {at(3)};
  put(10, {1, in(kGap, 20)});
  put(20, {at(21), at(3), in(kFlat)});
  put(23, {5, in(kFirst)});
  const Start start{in(kFlat), at(10), at(20)};
  expect(start, bounds(10), {in(kFlat), in(kGap, 20), in(kFlat), in(kFirst)}, Walk::kRoot);
}

// As runtime.asmcgocall, and runtime.cgocallback back: C on the thread's stack, Go on a goroutine's.
TEST_F(FrameRecordWalk, ToAnotherStackAndBack) {
  for (const bool is_above : {true, false}) {
    const uint64_t other = is_above ? 300 : 2;
    const StackBounds here = is_above ? bounds(100, 200) : bounds(310, 400);
    const uint64_t leaf = is_above ? 110 : 320;
    world_.other_stack = is_above ? bounds(300, 400) : bounds(2, 100);
    world_.no_call_sites = {in(kGap, 50)};
    put(leaf, {1, in(kGap, 20)});
    put(other + 8, {at(other + 12), in(kGap, 30)});
    put(other + 12, {0, in(kGap, 50)});
    const Start start{in(kFlat), at(leaf), at(other + 8)};
    const std::vector<uint64_t> frames = {in(kFlat), in(kGap, 20), in(kGap, 30), in(kGap, 50)};
    expect(start, here, frames, Walk::kRoot);
    // One word that looks like a return address does not make a stack.
    put(other + 12, {7, in(kGap, 50)});
    expect(start, here, {in(kFlat), in(kGap, 20)}, Walk::kNoRule);
    put(other + 8, {0, in(kGap, 30)});
    expect(start, here, {in(kFlat), in(kGap, 20)}, Walk::kNoRule);
  }
}

TEST_F(FrameRecordWalk, BelowTheStackPointerIsNoOtherStack) {
  put(60, {1, in(kGap, 20)});
  put(30, {at(34), in(kGap, 30)});
  put(34, {at(38), in(kGap, 31)});
  world_.other_stack = bounds(20, 256);
  expect({in(kFlat), at(60), at(30)}, bounds(20), {in(kFlat), in(kGap, 20)}, Walk::kNoRule);
}

TEST_F(FrameRecordWalk, StacksThatLeadInACircleEnd) {
  put(110, {1, in(kGap, 20)});
  put(300, {at(120), in(kGap, 30)});
  put(120, {at(300), in(kGap, 31)});
  world_.other_stack = bounds(300, 310);
  const Start start{in(kFlat), at(110), at(300)};
  EXPECT_LE(walk(start, bounds(100, 118)).frames.size(), 3u + 2 * kMaxStackJumps);
  EXPECT_EQ(Walk::kNoRule, walk(start, bounds(100, 118)).reason);
  EXPECT_EQ(Walk::kNoRule, walk_full(start, bounds(100, 118)).reason);
}

// A stack whose end is not known is not asked for page by page up to wherever the register points.
TEST_F(FrameRecordWalk, AStackDoesNotGrowToAFarFramePointer) {
  static int steps;
  steps = 0;
  put(10, {1, in(kGap, 20)});
  const StackBounds growing{at(10), at(20), [](uint64_t high) { return ++steps, high + 4096; }};
  const Walked w = walk({in(kFlat), at(10), at(10) + (uint64_t{1} << 30)}, growing);
  EXPECT_EQ(Walk::kNoRule, w.reason);
  EXPECT_EQ(0, steps);
}

// A frame pointer that the code which is left has not saved: its caller's, or further up the stack.  Modules of 4 KiB, each
// with a table; the number of one is that of its pages.
struct Calls {
  uint64_t target = 0;
  bool is_said = true;
};
Calls g_calls;

const Surroundings kModules{[](uint64_t address, Image* image) {
                              image->index = address / 4096;
                              return image->index < 4;
                            },
                            [](uint64_t) { return true; },
                            [](uint64_t) { return StackBounds{}; },
                            [](uint64_t) { return false; },
                            nullptr,
                            [](uint64_t, uint64_t* target) {
                              *target = g_calls.target;
                              return g_calls.is_said;
                            }};

bool is_believed(uint64_t pc, uint64_t return_address, const Calls& calls, bool is_in_module = true) {
  g_calls = calls;
  uint64_t words[4] = {0, return_address, 0, 0};
  const auto first = reinterpret_cast<uint64_t>(words);
  StackMemory stack({first, first + sizeof(words), nullptr});
  int jumps = 0;
  FrameRecord record{};
  return find_frame_record({pc, first, first, is_in_module}, kModules, &stack, &jumps, &record);
}

TEST(FrameRecord, ACallThatLeadsToAnotherModuleIsNotOfTheCodeThatIsLeft) {
  constexpr uint64_t kLeft = 4096 + 100;
  constexpr uint64_t kOther = 2 * 4096 + 100;
  EXPECT_FALSE(is_believed(kLeft, kOther, {kOther + 8}));
  EXPECT_FALSE(is_believed(kLeft, kOther, {3 * 4096}));
  EXPECT_TRUE(is_believed(kLeft, kOther, {kLeft - 50}));     // of another function of it, which jumped
  EXPECT_TRUE(is_believed(kLeft, kOther, {kOther, false}));  // by a pointer, or through a linkage table
  EXPECT_TRUE(is_believed(kLeft, kLeft + 8, {kOther}));      // within the module nobody can tell
  EXPECT_TRUE(is_believed(kLeft, kOther, {9 * 4096}));       // of code that was made at run time
  EXPECT_TRUE(is_believed(9 * 4096, kOther, {kOther}, false));
}

}  // namespace
}  // namespace memprof::frame_record_test
