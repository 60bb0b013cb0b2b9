// SPDX-License-Identifier: Apache-2.0
// Walks over stacks that are written word by word, through code that exists only in a table.  What real code
// does is in tests/platform/linux/stack/stack_test.cc and tests/unwind/oracle.
#include "unwind/walk/table_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/stack.h"
#include "tests/support/engine.h"
#include "tests/unwind/hand_made_code.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::table_walk_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using platform::Walk;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing_support::Random;
using testing_support::scaled;

TEST_F(TableWalk, EachKindOfFrame) {
  // The cold walk, the warm one, and the one with all registers see the same.
  put(10, {1, in(kPushesBp)});        // kFlat at 10
  put(12, {7, at(20), in(kFramed)});  // kPushesBp at 12: rbp becomes 20
  put(20, {at(40), in(kRealigned)});  // kFramed with rbp at 20: CFA 22, rbp becomes 40
  put(39, {at(50), at(44), 99});      // kRealigned: CFA = *(40 - 1) = 50, rbp = *40 = 44
  put(49, {in(kSpSlot)});
  put(51, {at(58)});                                         // kSpSlot at 50: CFA = *51 + 16 = 60
  put(59, {in(kPltEntry, 32 + 5), in(kPltEntry, 48 + 11)});  // the entry's CFA = sp + 8 = 61
  put(62, {in(kFirst)});                                     // and = sp + 16 = 63
  const std::vector<uint64_t> expected = {
      in(kFlat),         in(kPushesBp),          in(kFramed), in(kRealigned), in(kSpSlot),
      in(kPltEntry, 37), in(kPltEntry, 48 + 11), in(kFirst)};
  const Start start{in(kFlat), at(10), 0};
  for (int round = 0; round < 2; ++round) {
    const Walked w = walk(start, bounds(10));
    EXPECT_THAT(w.frames, ElementsAreArray(expected));
    EXPECT_EQ(Walk::kRoot, w.reason);
    EXPECT_FALSE(w.needs_all);
  }
  const Walked full = walk_full(start, bounds(8));
  EXPECT_THAT(full.frames, ElementsAreArray(expected));
  EXPECT_EQ(Walk::kRoot, full.reason);
}

TEST_F(TableWalk, ReturnAddressesAreLookedUpOneByteBefore) {
  // The call was the last instruction of kFlat: the address behind it is kPushesBp's first.
  put(10, {1, in(kPushesBp, 0)});
  put(12, {7, in(kFirst)});
  const Walked w = walk({in(kFlat), at(10), 0}, bounds(10));
  EXPECT_THAT(w.frames, ElementsAre(in(kFlat), in(kPushesBp, 0), in(kFirst)));
}

TEST_F(TableWalk, EndReasons) {
  const auto reason_after = [&](uint64_t next, const StackBounds& stack) {
    put(10, {1, next});
    const Walked w = walk({in(kFlat), at(10), 0}, stack);
    const Walked full = walk_full({in(kFlat), at(10), 0}, {at(8), stack.high, stack.grow});
    if (!w.needs_all) {
      EXPECT_EQ(w.reason, full.reason);
    }
    EXPECT_EQ(w.frames, full.frames);
    return full.reason;
  };
  EXPECT_EQ(Walk::kRoot, reason_after(in(kFirst), bounds(10)));
  EXPECT_EQ(Walk::kRoot, reason_after(0, bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(4095, bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(uint64_t{1} << 47, bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(in(kFlat) | uint64_t{1} << 48, bounds(10)));
  EXPECT_EQ(Walk::kNoRule, reason_after(in(kElsewhere), bounds(10)));
  EXPECT_EQ(Walk::kNoRule, reason_after(in(kBadRow), bounds(10)));
  EXPECT_EQ(Walk::kNoRule, reason_after(in(kGap), bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(in(kNotMoving), bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(in(kUnaligned), bounds(10)));
  EXPECT_EQ(Walk::kLeftStack, reason_after(in(kFlat), bounds(10, 13)));
  EXPECT_EQ(Walk::kLeftStack, reason_after(in(kFlat), bounds(10, 11)));
  // Nothing of the stack is left above a function without a table: it was the first.
  EXPECT_EQ(Walk::kRoot, reason_after(in(kGap), bounds(10, 12)));
}

TEST_F(TableWalk, TheDepthLimitKeepsTheLeafEnd) {
  for (uint64_t i = 0; i < 20; ++i) {
    put(10 + 2 * i, {0, in(kFlat, 1 + i)});
  }
  put(50, {0, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  for (const uint32_t depth : {1u, 2u, 20u, 21u}) {
    const Walked w = walk(start, bounds(10), depth);
    ASSERT_EQ(depth, w.frames.size());
    EXPECT_EQ(Walk::kDepthLimit, w.reason);
    EXPECT_EQ(in(kFlat), w.frames[0]);
    const Walked full = walk_full(start, bounds(8), 0, depth);
    EXPECT_EQ(w.frames, full.frames);
    EXPECT_EQ(Walk::kDepthLimit, full.reason);
  }
  EXPECT_EQ(Walk::kRoot, walk(start, bounds(10), 22).reason);
  EXPECT_EQ(22u, walk(start, bounds(10), 22).frames.size());
}

TEST_F(TableWalk, ADeepStackKeepsBothEnds) {
  for (uint64_t i = 0; i < 100; ++i) {
    put(10 + 2 * i, {0, in(kFlat, 1 + i % 60)});
  }
  put(210, {0, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  const Walked whole = walk(start, bounds(10), 200);
  ASSERT_EQ(102u, whole.frames.size());
  for (int round = 0; round < 2; ++round) {  // the cold walk, the warm one, and the one with all registers
    const Walked part = walk(start, bounds(10), 64);
    ASSERT_EQ(Walk::kMiddleLeftOut, part.reason);
    ASSERT_EQ(64u, part.frames.size());
    EXPECT_TRUE(std::equal(part.frames.begin(), part.frames.begin() + 47, whole.frames.begin()));
    EXPECT_EQ(platform::kFramesLeftOut, part.frames[47]);
    EXPECT_TRUE(std::equal(part.frames.begin() + 48, part.frames.end(), whole.frames.end() - 16));
    EXPECT_EQ(part.frames, walk_full(start, bounds(8), 0, 64).frames);
  }
  // The root is not reached: the leaf's end, all of it.
  put(210, {0, in(kBadRow)});
  const Walked cut = walk(start, bounds(10), 64);
  EXPECT_EQ(Walk::kDepthLimit, cut.reason);
  EXPECT_TRUE(std::equal(cut.frames.begin(), cut.frames.end(), whole.frames.begin()));
}

TEST_F(TableWalk, HooksAreLeftOutAtTheLeafEndOnly) {
  world_.hooks_below = kPushesBp;  // kFlat
  put(10, {1, in(kFlat, 40)});
  put(12, {1, in(kPushesBp)});
  put(14, {7, 0, in(kFlat, 50)});
  put(17, {1, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  EXPECT_THAT(walk(start, bounds(10)).frames, ElementsAre(in(kPushesBp), in(kFlat, 50), in(kFirst)));
  EXPECT_THAT(walk_full(start, bounds(8)).frames, ElementsAre(in(kPushesBp), in(kFlat, 50), in(kFirst)));
}

TEST_F(TableWalk, CodeWithoutATableIsLeftByItsFramePointer) {
  put(10, {1, in(kElsewhere, 7)});
  put(20, {at(24), in(kElsewhere, 8)});
  put(24, {at(30), in(kFlat)});
  put(26, {3, in(kFirst)});
  const Start start{in(kFlat), at(10), at(20)};
  const Walked w = walk(start, bounds(10));
  EXPECT_THAT(w.frames, ElementsAre(in(kFlat), in(kElsewhere, 7), in(kElsewhere, 8), in(kFlat), in(kFirst)));
  EXPECT_EQ(Walk::kRoot, w.reason);
  EXPECT_EQ(w.frames, walk_full(start, bounds(8)).frames);
  // Not if that is no return address, nor from a register that holds anything else.
  world_.call_sites = false;
  put(20, {at(19)});  // frame_record_test.cc: what is believed nevertheless
  EXPECT_THAT(walk(start, bounds(10)).frames, ElementsAre(in(kFlat), in(kElsewhere, 7)));
  EXPECT_EQ(Walk::kNoRule, walk_full(start, bounds(8)).reason);
  put(20, {at(24)});
  world_.call_sites = true;
  for (const uint64_t bp :
       {uint64_t{0}, at(5), at(11), at(20) + 4, at(255), at(256), ~uint64_t{0}, ~uint64_t{7}}) {
    const Walked bad = walk({in(kFlat), at(10), bp}, bounds(10));
    EXPECT_THAT(bad.frames, ElementsAre(in(kFlat), in(kElsewhere, 7))) << bp;
    EXPECT_EQ(Walk::kNoRule, bad.reason) << bp;
    EXPECT_EQ(Walk::kNoRule, walk_full({in(kFlat), at(10), bp}, bounds(8)).reason) << bp;
  }
}

TEST_F(TableWalk, CodeInNoModuleIsNotRemembered) {
  put(10, {1, in(kGap)});
  put(20, {0, in(kFirst)});
  const Start start{in(kFlat), at(10), at(20)};
  Rule rule{};
  ASSERT_EQ(3u, walk(start, bounds(10)).frames.size());
  EXPECT_TRUE(g_rule_cache.find(in(kGap)-1, &rule));
  put(10, {1, in(kElsewhere)});
  ASSERT_EQ(3u, walk(start, bounds(10)).frames.size());
  EXPECT_FALSE(g_rule_cache.find(in(kElsewhere)-1, &rule));
}

TEST_F(TableWalk, TheCacheIsNotAskedDuringAnUnload) {
  put(10, {1, in(kPushesBp)});
  put(12, {7, 0, in(kFirst)});
  const uint32_t ticket = g_rule_cache.ticket();
  g_rule_cache.enter(in(kPushesBp)-1, {Rule::kFromSp, 1, 0}, ticket);  // wrong: of a library that is gone
  const Start start{in(kFlat), at(10), 0};
  EXPECT_EQ(Walk::kBadFrame, walk(start, bounds(10)).reason) << "the planted rule is not asked for";
  g_rule_cache.begin_unload();
  EXPECT_THAT(walk(start, bounds(10)).frames, ElementsAre(in(kFlat), in(kPushesBp), in(kFirst)));
  g_rule_cache.end_unload();
  EXPECT_THAT(walk(start, bounds(10)).frames, ElementsAre(in(kFlat), in(kPushesBp), in(kFirst)));
}

// ---- Signal frames

TEST_F(SignalWalk, AHandlerOnTheSameStack) {
  put(10, {1, in(kTrampoline)});
  put_context(12, in(kFlat, 0), at(50), at(60));  // interrupted at its first instruction
  put(50, {1, in(kFramed)});
  put(60, {0, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  const std::vector<uint64_t> expected = {in(kFlat), in(kTrampoline), in(kFlat, 1), in(kFramed), in(kFirst)};
  const Walked w = walk(start, bounds(10));
  EXPECT_THAT(w.frames, ElementsAreArray(expected)) << "the interrupted address is one less than noted";
  EXPECT_EQ(Walk::kRoot, w.reason);
  const Walked full = walk_full(start, bounds(8));
  EXPECT_THAT(full.frames, ElementsAreArray(expected));
  EXPECT_EQ(Walk::kRoot, full.reason);
}

TEST_F(SignalWalk, AHandlerOnAStackOfItsOwn) {
  put(10, {1, in(kTrampoline)});
  put_context(12, in(kFlat), at(300), 0);
  put(300, {1, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  world_.other_stack = bounds(300, 400);
  const Walked w = walk(start, bounds(10));
  EXPECT_THAT(w.frames, ElementsAre(in(kFlat), in(kTrampoline), in(kFlat) + 1, in(kFirst)));
  EXPECT_EQ(Walk::kRoot, w.reason);
  EXPECT_EQ(w.frames, walk_full(start, bounds(8)).frames);
  world_.other_stack = bounds(300, 301);  // too short: no return address
  EXPECT_EQ(Walk::kLeftStack, walk(start, bounds(10)).reason);
  EXPECT_EQ(Walk::kLeftStack, walk_full(start, bounds(8)).reason);
}

TEST_F(SignalWalk, BelowTheHandlersStack) {
  put(210, {1, in(kTrampoline)});
  put_context(212, in(kFlat), at(100), 0);
  put(100, {1, in(kFirst)});
  world_.other_stack = bounds(100, 200);
  const Start start{in(kFlat), at(210), 0};
  const Walked w = walk(start, bounds(210));
  EXPECT_EQ(4u, w.frames.size());
  EXPECT_EQ(Walk::kRoot, w.reason);
  EXPECT_EQ(w.frames, walk_full(start, bounds(208)).frames);
}

TEST_F(SignalWalk, ContextsThatLeadInACircleEnd) {
  // Each interrupted function is the trampoline again, on the same context.
  put(10, {1, in(kTrampoline)});
  put_context(12, in(kTrampoline), at(12), 0);
  world_.other_stack = bounds(10, 200);
  const Start start{in(kFlat), at(10), 0};
  EXPECT_LE(walk(start, bounds(10)).frames.size(), 10u);
  EXPECT_NE(Walk::kDepthLimit, walk(start, bounds(10)).reason);
  EXPECT_NE(Walk::kDepthLimit, walk_full(start, bounds(8)).reason);
}

TEST_F(SignalWalk, DamagedContexts) {
  put(10, {1, in(kTrampoline)});
  const Start start{in(kFlat), at(10), 0};
  put_context(12, 100, at(50), 0);
  EXPECT_EQ(Walk::kBadFrame, walk(start, bounds(10)).reason);
  put_context(12, in(kFlat), at(50) + 4, 0);
  EXPECT_EQ(Walk::kBadFrame, walk(start, bounds(10)).reason);
  put_context(12, in(kFlat), at(50), 0);
  EXPECT_EQ(Walk::kLeftStack, walk(start, bounds(10, 30)).reason);
  EXPECT_EQ(Walk::kLeftStack, walk_full(start, bounds(8, 30)).reason);
}

// ---- Anything
// -------------------------------------------------------------------------------------------------

// Whatever lies on the stack: every read is inside it (its neighbours are inaccessible), each walk ends, and
// both walks agree on what both can see.
TEST_F(SignalWalk, RandomStacksAreSurvived) {
  constexpr uint64_t kWords = 512;
  const size_t page = 4096;
  char* memory = static_cast<char*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(memory));
  ASSERT_EQ(0, mprotect(memory + page, page, PROT_READ | PROT_WRITE));
  auto* words = reinterpret_cast<uint64_t*>(memory + page);
  const uint64_t low = reinterpret_cast<uint64_t>(words);
  const StackBounds stack{low, low + page, nullptr};
  world_.other_stack = stack;
  Random random(20250108);
  uint64_t reasons[platform::kWalkReasons] = {};
  uint64_t frames = 0;
  for (uint64_t round = 0; round < scaled(200000); ++round) {
    for (uint64_t i = 0; i < kWords; ++i) {
      const uint64_t kind = random.below(8);
      words[i] = kind < 4   ? in(random.below(kElsewhere + 1), random.below(64))
                 : kind < 7 ? low + 8 * (i + random.below(24))
                            : random.next();
    }
    const Start start{in(random.below(kElsewhere), 20), low + 8 * (2 + random.below(100)),
                      low + 8 * random.below(kWords)};
    const uint32_t max_depth = 1 + static_cast<uint32_t>(random.below(6));
    const Walked w = walk(start, stack, max_depth);
    ++reasons[static_cast<int>(w.reason)];
    frames += w.frames.size();
    walk_full(start, stack, low + 8 * random.below(kWords), max_depth);
  }
  munmap(memory, 3 * page);
  for (uint32_t reason = 0; reason < platform::kWalkReasons; ++reason) {
    if (static_cast<Walk>(reason) != Walk::kMiddleLeftOut) {  // not with such limits
      EXPECT_GT(reasons[reason], scaled(200)) << reason;
    }
  }
  EXPECT_GT(frames, scaled(300000));
}

}  // namespace
}  // namespace memprof::table_walk_test
