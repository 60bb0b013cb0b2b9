// SPDX-License-Identifier: Apache-2.0
// Callers that stacks share: what is stored once is read for each stack, and lives as long as one of them.
#include "core/tables/caller_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/tables/stack_table.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::caller_table_test {
namespace {

using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

constexpr Limits kFew{4096, 512, 64};
constexpr uint32_t kDepth = 44;

// Each frame says of which stack it is and where it is in it.
uint64_t frame_of(uint64_t number, uint32_t from_root) {
  return 0x400000 + number * 1024 + from_root;
}

// `own` innermost frames of `number`, and callers of `callers`.
std::vector<uint64_t> frames_of(uint64_t number, uint32_t own, uint64_t callers, uint32_t depth = kDepth) {
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < depth; ++i) {
    frames.push_back(frame_of(i < own ? number : callers, depth - 1 - i));
  }
  return frames;
}

uint32_t intern(ScopedArena& a, const std::vector<uint64_t>& frames) {
  bool is_new = false;
  return a.stacks.intern(frames.data(), static_cast<uint32_t>(frames.size()), platform::Walk::kRoot, &is_new);
}

// A sample that lives and dies.
void pass(ScopedArena& a, const std::vector<uint64_t>& frames) {
  const uint32_t id = intern(a, frames);
  ASSERT_NE(StackTable::kNone, id);
  a.stacks.add_allocated(id, 100, weigh(100, 0));
  a.stacks.add_freed(id, 100, weigh(100, 0), 1000);
  a.stacks.release(id);
}

bool has_frames(ScopedArena& a, uint32_t id, const std::vector<uint64_t>& frames) {
  const StackEntry& e = a.stacks.entry(id);
  if (e.depth != frames.size()) {
    return false;
  }
  for (uint32_t i = 0; i < e.depth; ++i) {
    if (a.stacks.frame(e, i) != frames[i]) {
      return false;
    }
  }
  return true;
}

// Each piece has as many uses as there are stacks and pieces that name it.
void expect_uses_are_right(ScopedArena& a) {
  const CallerTable& callers = a.stacks.callers();
  std::vector<uint32_t> uses(callers.size());
  for (uint32_t id = 0; id < a.stacks.size(); ++id) {
    const StackEntry& e = a.stacks.entry(id);
    ++uses[e.callers];
  }
  for (uint32_t id = 1; id < callers.size(); ++id) {
    ++uses[callers.piece(id).callers];
  }
  for (uint32_t id = 1; id < callers.size(); ++id) {
    ASSERT_EQ(uses[id], callers.piece(id).uses.load()) << id;
  }
}

TEST(CallerTable, StacksOfTheSameCallersShareThem) {
  ScopedArena a;
  for (uint64_t i = 0; i < 100; ++i) {
    intern(a, frames_of(1 + i, 1, 0));
  }
  const StackEntry& first = a.stacks.entry(0);
  EXPECT_EQ(kDepth, first.depth);
  EXPECT_EQ(4u, first.own);
  for (uint32_t id = 0; id < 100; ++id) {
    EXPECT_EQ(first.callers, a.stacks.entry(id).callers);
    EXPECT_TRUE(has_frames(a, id, frames_of(1 + id, 1, 0))) << id;
  }
  EXPECT_EQ(1 + pieces_of(kDepth), a.stacks.callers().size());
  EXPECT_EQ(100 * kFrameUnit * sizeof(uint64_t), a.header().section(kFrameSection).used_bytes.load());
  EXPECT_EQ(100u, a.stacks.callers().piece(first.callers).uses.load());
  expect_uses_are_right(a);
}

// A caller in the middle is another one: what is nearer to the root is shared.
TEST(CallerTable, WhereCallersPartTheyShareTheRest) {
  ScopedArena a;
  const uint32_t one = intern(a, frames_of(1, 10, 0));
  const uint32_t two = intern(a, frames_of(2, 10, 0));
  const CallerTable& callers = a.stacks.callers();
  const CallerPiece& of_one = callers.piece(a.stacks.entry(one).callers);
  const CallerPiece& of_two = callers.piece(a.stacks.entry(two).callers);
  EXPECT_NE(&of_one, &of_two);
  EXPECT_EQ(of_one.callers, of_two.callers);
  EXPECT_EQ(2u, callers.piece(of_one.callers).uses.load());
}

TEST(CallerTable, StacksOfAllDepthsAreReadAsTheyWere) {
  ScopedArena a({1024, 512, 256});
  for (uint32_t depth = 0; depth <= 200; ++depth) {
    std::vector<uint64_t> frames = frames_of(depth, depth / 3, 0, depth);
    frames.reserve(1);
    const uint32_t id = intern(a, frames);
    ASSERT_EQ(depth, id);
    a.stacks.add_allocated(id, 100, weigh(100, 0));
  }
  const auto s = take(a.arena);
  ASSERT_EQ(201u, s->stacks.size);
  for (uint32_t depth = 0; depth <= 200; ++depth) {
    const SnapshotStack& stack = s->stacks.data[depth];
    ASSERT_EQ(depth, stack.frame_count);
    const uint64_t* const frames = s->frames.data + stack.first_frame;
    EXPECT_EQ(frames_of(depth, depth / 3, 0, depth), std::vector<uint64_t>(frames, frames + depth));
  }
  expect_uses_are_right(a);
}

// Of stacks that nobody samples the callers go, those of others stay.
TEST(CallerTable, CallersLiveAsLongAsTheirStacks) {
  ScopedArena a(kFew);
  std::vector<uint32_t> held;
  for (uint64_t i = 0; i < 50; ++i) {
    held.push_back(intern(a, frames_of(i, kDepth, 0)));
    a.stacks.add_allocated(held.back(), 10, weigh(10, 0));
  }
  for (uint64_t i = 1000; i < 21000; ++i) {
    pass(a, frames_of(i, 30, 7));
  }
  EXPECT_GT(a.header().later_statistics.folded_stacks.load(), 10000u);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(has_frames(a, held[i], frames_of(i, kDepth, 0))) << i;
  }
  expect_uses_are_right(a);
  const auto s = take(a.arena);
  uint64_t whole = 0;
  uint64_t samples = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    samples += s->stacks.data[i].allocated.samples;
    whole += s->stacks.data[i].frame_count == kDepth;
  }
  EXPECT_EQ(20050u, samples);
  EXPECT_GT(whole, 300u) << "the newest are whole";
}

// Where there is no place for callers a stack has its frames itself.
TEST(CallerTable, WhereThereIsNoPlaceStacksHaveTheirFrames) {
  ScopedArena a(kFew);
  Section& section = a.arena.section(kCallerSection);
  section.capacity_bytes = 6 * sizeof(CallerPiece);  // the callers of one
  const uint32_t first = intern(a, frames_of(1, kDepth, 0));
  EXPECT_EQ(4u, a.stacks.entry(first).own);
  const uint32_t second = intern(a, frames_of(2, kDepth, 0));
  EXPECT_EQ(kDepth, a.stacks.entry(second).own);
  EXPECT_EQ(0u, a.stacks.entry(second).callers);
  const uint32_t third = intern(a, frames_of(3, 20, 1));
  EXPECT_EQ(kDepth - 24, a.stacks.entry(third).own);
  EXPECT_TRUE(has_frames(a, second, frames_of(2, kDepth, 0)));
  EXPECT_TRUE(has_frames(a, third, frames_of(3, 20, 1)));
  expect_uses_are_right(a);
}

TEST(CallerTable, WhatNobodyUsesCanBeEmptied) {
  ScopedArena a(kFew);
  const CallerTable& callers = a.stacks.callers();
  const std::vector<uint64_t> frames = frames_of(1, kDepth, 0);
  uint32_t own = 0;
  uint32_t unknown = 0;
  const uint32_t id = callers.hold(frames.data(), kDepth, &own, &unknown);
  ASSERT_NE(0u, id);
  EXPECT_EQ(4u, own);
  EXPECT_FALSE(callers.empty(id));
  callers.release(id);
  const uint32_t of_it = callers.piece(id).callers;
  EXPECT_FALSE(callers.empty(of_it)) << "the other one uses it";
  EXPECT_TRUE(callers.empty(id));
  EXPECT_EQ(0u, callers.piece(id).frames[0]);
  EXPECT_TRUE(callers.empty(of_it));
  EXPECT_NE(0u, callers.hold(frames.data(), kDepth, &own, &unknown)) << "it is made again";
}

// A sweep took a name from a caller: a new stack through that address does not get what was left of the older one.
TEST(CallerTable, CallersThatLostANameAreNotThoseOfANewStack) {
  ScopedArena a(kFew);
  const CallerTable& callers = a.stacks.callers();
  const std::vector<uint64_t> frames = frames_of(1, kDepth, 0);
  const uint32_t before = intern(a, frames);
  const uint32_t of_it = callers.piece(a.stacks.entry(before).callers).callers;
  callers.piece(of_it).frames[3] = platform::kOlderModules;
  const std::vector<uint64_t> next = [&] {
    std::vector<uint64_t> of = frames;
    of[0] = frame_of(2, 0);
    return of;
  }();
  const uint32_t after = intern(a, next);
  EXPECT_TRUE(has_frames(a, after, next));
  EXPECT_FALSE(has_frames(a, before, frames));
  EXPECT_EQ(1 + pieces_of(kDepth) + 2, callers.size()) << "what is nearer to the root is shared";
  expect_uses_are_right(a);
}

TEST(CallerTable, ThreadsThatMeetTheSameCallersShareThem) {
  ScopedArena a({4096, 4096, 64});
  run_threads(4, [&](int /*thread*/) {
    for (uint64_t i = 0; i < 1000; ++i) {
      const uint32_t id = intern(a, frames_of(i, 20, i % 7));
      EXPECT_TRUE(has_frames(a, id, frames_of(i, 20, i % 7)));
      a.stacks.release(id);
    }
  });
  expect_uses_are_right(a);
}

}  // namespace
}  // namespace memprof::caller_table_test
