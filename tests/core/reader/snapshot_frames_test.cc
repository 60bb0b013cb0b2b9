// SPDX-License-Identifier: Apache-2.0
// Stacks that share callers are read whole: while they come and go, from older arenas, and from damaged ones.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/tables/stack_table.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_frames_test {
namespace {

using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

constexpr Limits kFew{4096, 512, 64};
constexpr uint32_t kDepth = 44;

// Each frame says of which stack it is and where it is in it.
std::vector<uint64_t> frames_of(uint64_t number, uint32_t depth = kDepth) {
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < depth; ++i) {
    frames.push_back(0x400000 + number * 1024 + depth - 1 - i);
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

// Stacks come and go while they are read: no stack has frames of another one.
TEST(SnapshotFrames, ReadersFindWholeStacks) {
  ScopedArena a(kFew);
  std::atomic<bool> ends{false};
  uint64_t stacks = 0;
  run_threads(3, [&](int thread) {
    if (thread != 0) {
      for (uint64_t i = 0; !ends.load(); ++i) {
        const uint64_t number = 1 + 2 * i + static_cast<uint64_t>(thread);
        pass(a, frames_of(number));
      }
      return;
    }
    // Under load the others begin later than this one.
    for (int i = 0; i < 100 || (stacks == 0 && i < 1000000); ++i) {
      const auto s = take(a.arena);
      for (uint64_t k = 0; k < s->stacks.size && s->is_settled; ++k) {
        const SnapshotStack& stack = s->stacks.data[k];
        const uint64_t* const frames = s->frames.data + stack.first_frame;
        if (stack.frame_count != kDepth) {
          continue;
        }
        ++stacks;
        for (uint32_t f = 1; f < kDepth; ++f) {
          ASSERT_EQ(frames[0] - f, frames[f]) << k << ' ' << f;
        }
      }
    }
    ends = true;
  });
  EXPECT_GT(stacks, 0u);
}

TEST(SnapshotFrames, OlderArenasHaveNone) {
  ScopedArena a;
  const std::vector<uint64_t> frames = frames_of(1, 5);
  const uint32_t id = intern(a, frames);
  a.stacks.add_allocated(id, 100, weigh(100, 0));
  StackEntry& e = a.stacks.entry(id);
  e.own = 0;  // as they have it
  e.callers = 3;
  ArenaHeader& h = a.arena.header();
  h.version = 12;
  h.header_bytes = kVersion12HeaderBytes;
  h.section_count = kVersion10Sections;
  h.caller_sections[0].offset = 12345;  // whatever was there
  const auto s = take(a.arena);
  ASSERT_NE(nullptr, s);
  ASSERT_EQ(5u, s->stacks.data[id].frame_count);
  EXPECT_EQ(frames[4], s->frames.data[s->stacks.data[id].first_frame + 4]);
}

TEST(SnapshotFrames, DamagedCallersAreLeftOut) {
  ScopedArena a;
  for (uint64_t i = 0; i < 5; ++i) {
    a.stacks.add_allocated(intern(a, frames_of(i)), 100, weigh(100, 0));
  }
  const CallerTable& callers = a.stacks.callers();
  const auto deepest = [&](uint32_t id) { return a.stacks.entry(id).callers; };
  callers.piece(deepest(0)).callers = deepest(0);
  callers.piece(deepest(1)).callers = UINT32_MAX;
  a.stacks.entry(2).callers = static_cast<uint32_t>(callers.size());
  a.stacks.entry(3).own = 5;
  const auto s = take(a.arena);
  for (uint32_t id = 0; id < 4; ++id) {
    EXPECT_EQ(0u, s->stacks.data[id].frame_count) << id;
    EXPECT_EQ(1u, s->stacks.data[id].allocated.samples);
  }
  EXPECT_EQ(kDepth, s->stacks.data[4].frame_count);
}

}  // namespace
}  // namespace memprof::snapshot_frames_test
