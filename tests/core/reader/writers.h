// SPDX-License-Identifier: Apache-2.0
// Threads that write into an arena, and others that look at it meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "core/reader/snapshot.h"
#include "core/sampling/weight.h"
#include "platform/stack.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {

constexpr uint64_t kDeepest = 20;

// Blocks of one thread come and go, and new stacks come all the time.  Each frame of a block's stack is its size.
inline void write_blocks(testing_support::ScopedArena& a, int thread, uint64_t (*depth_of)(uint64_t size)) {
  testing_support::Random random(static_cast<uint64_t>(thread));
  uint64_t held[256] = {};
  for (uint64_t i = 0; i < testing_support::scaled(300000); ++i) {
    const uint64_t which = random.below(256);
    const uint64_t address = 0x100000 + (static_cast<uint64_t>(thread) * 256 + which) * 16;
    if (held[which] != 0) {
      LiveSample erased{};
      EXPECT_TRUE(a.live.erase(address, &erased));
      held[which] = 0;
      continue;
    }
    const uint64_t size = 1 + random.below(100 + i / 20);
    uint64_t frames[kDeepest];
    std::fill(frames, frames + kDeepest, size);
    bool is_new = false;
    const uint32_t stack = a.stacks.intern(frames, depth_of(size), platform::Walk::kRoot, &is_new);
    ASSERT_NE(StackTable::kNone, stack);
    a.stacks.add_allocated(stack, size, weigh(size, size * 2));
    EXPECT_TRUE(a.live.insert({{address, size, size * 2, i + 1, stack, 1}}));
    held[which] = size;
  }
}

// `take` gives a snapshot of `a`: two threads take one after another until the writers have ended, and each is right.
template <typename Take>
void read_what_is_written(testing_support::ScopedArena& a, int writers, uint64_t (*depth_of)(uint64_t size),
                          Take take) {
  std::atomic<int> still_writing{writers};
  testing_support::run_threads(writers + 2, [&](int thread) {
    if (thread < writers) {
      write_blocks(a, thread, depth_of);
      --still_writing;
      return;
    }
    uint64_t snapshots = 0;
    do {
      const auto s = take();
      ASSERT_NE(nullptr, s);
      ++snapshots;
      for (uint64_t i = 0; i < s->records.size; ++i) {
        const SnapshotRecord& r = s->records.data[i];
        const SnapshotStack& stack = s->stacks.data[r.stack_id];
        ASSERT_EQ(depth_of(r.size_bytes), stack.frame_count);
        ASSERT_EQ(r.size_bytes, s->frames.data[stack.first_frame]);
        ASSERT_EQ(r.size_bytes, s->frames.data[stack.first_frame + stack.frame_count - 1]);
        ASSERT_EQ(r.size_bytes * 2, r.rate_bytes);
      }
    } while (still_writing.load() != 0);
    EXPECT_GT(snapshots, 0u);
  });
}

}  // namespace memprof::snapshot_test
