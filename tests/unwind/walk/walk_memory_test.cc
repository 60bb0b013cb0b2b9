// SPDX-License-Identifier: Apache-2.0
// A walk with a memory finds what one without finds, whatever changed on the stack in between.
#include "unwind/walk/walk_memory.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_code.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::walk_memory_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using platform::Walk;
using platform::WalkResult;
using testing_support::Random;
using testing_support::scaled;

struct Found {
  std::vector<uint64_t> frames;
  std::vector<uint64_t> stack_pointers;
  Walk reason;
  bool needs_all;
  bool has_gaps;
};

bool operator==(const Found& a, const Found& b) {
  return a.frames == b.frames && a.stack_pointers == b.stack_pointers && a.reason == b.reason &&
         a.needs_all == b.needs_all && a.has_gaps == b.has_gaps;
}

Found found(const uint64_t* frames, const StackPointers& pointers, const WalkResult& result, bool needs_all) {
  return {{frames, frames + result.depth},
          {pointers.values, pointers.values + result.depth},
          result.reason,
          needs_all,
          pointers.has_gaps};
}

class MemoryOfWalks : public SignalWalk {
 protected:
  MemoryOfWalks() : memory_(WalkMemory::take(1)) {}
  ~MemoryOfWalks() override { memory_->give_back(); }

  Found without(const Start& start, const StackBounds& stack, uint32_t max_depth) {
    StackPointers pointers{other_pointers_.data(), false};
    bool needs_all = false;
    const WalkResult result =
        walk_by_tables(start, stack, kSurroundings, other_frames_.data(), max_depth, &needs_all, &pointers);
    return found(other_frames_.data(), pointers, result, needs_all);
  }
  Found with(const Start& start, const StackBounds& stack, uint32_t max_depth) {
    WalkMemory::Bank& bank = memory_->now();
    StackPointers pointers{bank.stack_pointers, false, memory_};
    bool needs_all = false;
    const WalkResult result =
        walk_by_tables(start, stack, kSurroundings, bank.frames, max_depth, &needs_all, &pointers);
    memory_->end(needs_all ? 0 : result.depth);
    return found(bank.frames, pointers, result, needs_all);
  }
  // The rest of a walk from `word` on, whose frames are of the functions in turn.
  void put_flat_frames(uint64_t word, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      put(word + 2 * i, {0, in(kFlat, 1 + i % 60)});
    }
    put(word + 2 * count, {0, in(kFirst)});
  }

  // Frames of the walk before that this one went on with, which the last walk remembered.
  uint32_t remembered() const {
    const WalkMemory::Bank& last = memory_->before();
    uint32_t n = 0;
    for (uint32_t i = 0; i < last.count; ++i) {
      n += last.saved_at[i] != WalkMemory::kNotRemembered ? 1 : 0;
    }
    return n;
  }

  WalkMemory* const memory_;
  std::vector<uint64_t> other_frames_ = std::vector<uint64_t>(WalkMemory::kFrames);
  std::vector<uint64_t> other_pointers_ = std::vector<uint64_t>(WalkMemory::kFrames);
};

constexpr uint32_t kDepth = WalkMemory::kFrames;

TEST_F(MemoryOfWalks, TheSameStackTwice) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  const Found expected = without(start, bounds(10), kDepth);
  ASSERT_EQ(32u, expected.frames.size());
  EXPECT_TRUE(with(start, bounds(10), kDepth) == expected);
  EXPECT_GE(remembered(), 29u);
  EXPECT_TRUE(with(start, bounds(10), kDepth) == expected);
  EXPECT_GE(remembered(), 29u);
}

// Rules are others, but nothing was unloaded: what goes on as before asks for none.
TEST_F(MemoryOfWalks, WhatIsTheSameIsNotLookedUp) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  without(start, bounds(10), kDepth);
  with(start, bounds(10), kDepth);
  const Found expected = with(start, bounds(10), kDepth);
  for (uint64_t i = 0; i < 60; ++i) {
    g_rule_cache.enter(in(kFlat, 1 + i) - 1, {Rule::kFromSp, 4, 0}, g_rule_cache.ticket());
  }
  EXPECT_TRUE(with(start, bounds(10), kDepth) == expected);
  EXPECT_FALSE(without(start, bounds(10), kDepth) == expected);
}

TEST_F(MemoryOfWalks, AnUnloadEndsIt) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  with(start, bounds(10), kDepth);
  const Found before = with(start, bounds(10), kDepth);
  // Other code comes to the same addresses: its frames are as large as two of the old.
  g_rule_cache.begin_unload();
  g_rule_cache.end_unload(at(0), at(0) + 1);
  for (uint64_t i = 0; i < 60; ++i) {
    g_rule_cache.enter(in(kFlat, 1 + i) - 1, {Rule::kFromSp, 4, 0}, g_rule_cache.ticket());
  }
  const Found expected = without(start, bounds(10), kDepth);
  EXPECT_TRUE(with(start, bounds(10), kDepth) == expected);
  EXPECT_FALSE(before == expected);
}

TEST_F(MemoryOfWalks, WhileSomebodyUnloadsNothingIsRemembered) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  with(start, bounds(10), kDepth);
  g_rule_cache.begin_unload();
  const Found during = with(start, bounds(10), kDepth);
  EXPECT_EQ(0u, remembered());
  g_rule_cache.end_unload();
  EXPECT_TRUE(with(start, bounds(10), kDepth) == during);
}

TEST_F(MemoryOfWalks, TheStackEndsWhereItIsKnownToEnd) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  with(start, bounds(10), kDepth);
  const StackBounds shorter = bounds(10, 41);
  EXPECT_TRUE(with(start, shorter, kDepth) == without(start, shorter, kDepth));
  EXPECT_TRUE(with(start, bounds(10), kDepth) == without(start, bounds(10), kDepth));
}

TEST_F(MemoryOfWalks, TheDepthLimitHoldsForWhatIsRemembered) {
  put_flat_frames(10, 30);
  const Start start{in(kFlat), at(10), 0};
  for (const uint32_t depth : {kDepth, 1u, 2u, kDepth, 20u, 31u, 32u, kDepth}) {
    EXPECT_TRUE(with(start, bounds(10), depth) == without(start, bounds(10), depth)) << depth;
  }
}

// Walks of stacks that change a word here and there, grow and shrink; through frames of every kind.
TEST_F(MemoryOfWalks, WhateverChangesTheFramesAreThoseOfAWalkWithout) {
  Random random(36);
  const uint64_t functions[] = {kFlat,   kFlat,     kFlat,      kPushesBp,  kPushesBp, kFramed,
                                kFramed, kSavesRbx, kRealigned, kSpSlot,    kPltEntry, kOddCfa,
                                kFirst,  kGap,      kElsewhere, kTrampoline};
  const auto function = [&] { return functions[random.next() % std::size(functions)]; };
  const auto common = [&] { return functions[random.next() % 7]; };
  // Mostly whole stacks: each frame is left to the next one.
  const auto build = [&](uint64_t word, uint64_t* pc, uint64_t* bp_word) {
    while (word + 8 < 250) {
      const bool is_odd = random.next() % 40 == 0;
      const uint64_t next = in(is_odd ? function() : common(), 1 + random.next() % 60);
      const uint64_t f = (*pc - 1 - in(0, 0)) / 64;
      if (f == kPushesBp) {
        put(word, {random.next(), *bp_word != 0 ? at(*bp_word) : 0, next});
        word += 3;
      } else if (f == kFramed && *bp_word == 0) {
        return;
      } else if (f == kFramed) {
        word = *bp_word;
        const uint64_t further = word + 3 + random.next() % 4;
        put(word, {at(further), next});
        word += 2;
        *bp_word = further;
      } else {
        put(word, {random.next(), next});
        word += 2;
      }
      if (*bp_word < word) *bp_word = word + 1 + random.next() % 4;
      *pc = next;
    }
  };
  uint64_t same = 0;
  for (uint64_t round = 0; round < scaled(20000); ++round) {
    const uint64_t first = 10 + random.next() % 20;
    Start start{in(common(), 1 + random.next() % 60), at(first), 0};
    uint64_t bp_word = first + 2 + random.next() % 3;
    start.bp = at(bp_word);
    if (round % 8 == 0) {
      uint64_t pc = start.pc;
      build(first, &pc, &bp_word);
    }
    for (int step = 0; step < 6; ++step) {
      const uint32_t depth = random.next() % 8 == 0 ? 1 + static_cast<uint32_t>(random.next() % 40) : kDepth;
      const StackBounds stack =
          random.next() % 8 == 0 ? bounds(first, 60 + random.next() % 190) : bounds(first);
      const Found expected = without(start, stack, depth);
      const Found remembered = with(start, stack, depth);
      ASSERT_TRUE(remembered == expected) << round << " " << step;
      same += this->remembered();
      const uint64_t kind = random.next() % 4;
      if (kind == 0) {  // a word anywhere
        put(10 + random.next() % 240,
            {random.next() % 2 == 0 ? in(function(), 1 + random.next() % 60) : at(10 + random.next() % 240)});
      } else if (kind == 1 && expected.frames.size() > 2) {  // returns to one of its callers
        const uint64_t i = 1 + random.next() % (expected.frames.size() - 1);
        if (expected.stack_pointers[i] >= at(10) && expected.stack_pointers[i] < at(250)) {
          start.pc = expected.frames[i];
          start.sp = expected.stack_pointers[i];
        }
      } else if (kind == 2 && start.sp > at(14) && start.sp < at(250)) {  // calls another function
        const uint64_t word = (start.sp - at(0)) / sizeof(uint64_t);
        put(word - 2, {0, start.pc});
        start = {in(kFlat, 1 + random.next() % 60), at(word - 2), start.bp};
      }
    }
  }
  EXPECT_GT(same, scaled(10000));
}

TEST(WalkMemories, AreTakenByOneAtATimeAndComeBackInAChild) {
  std::set<WalkMemory*> taken;
  for (uint64_t owner = 0; owner < 200; ++owner) {
    if (WalkMemory* const memory = WalkMemory::take(owner)) {
      EXPECT_TRUE(taken.insert(memory).second);
    }
  }
  EXPECT_EQ(WalkMemory::kMemories, taken.size());
  EXPECT_EQ(nullptr, WalkMemory::take(1));
  (*taken.begin())->end(5);
  WalkMemory::reset_in_child();
  WalkMemory* const memory = WalkMemory::take(1);
  ASSERT_NE(nullptr, memory);
  EXPECT_EQ(0u, memory->before().count);
  memory->give_back();
  EXPECT_EQ(memory, WalkMemory::take(1)) << "the same owner has the same one";
  memory->give_back();
}

}  // namespace
}  // namespace memprof::walk_memory_test
