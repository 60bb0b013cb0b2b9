// SPDX-License-Identifier: Apache-2.0
// Stacks that come and go in a table that is too small for them.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/sampling/weight.h"
#include "core/tables/stack_table.h"
#include "tests/support/arena.h"

namespace memprof::testing_support::passes {

inline constexpr Limits kLimits{4096, 512, 64};
inline constexpr uint32_t kDepth = 20;

inline std::vector<uint64_t> frames_of(uint64_t stack) {
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < kDepth; ++i) {
    frames.push_back(0x400000 + (i < 12 ? stack * 64 : 0) + i);
  }
  return frames;
}

inline uint32_t intern(ScopedArena& a, uint64_t stack) {
  const std::vector<uint64_t> frames = frames_of(stack);
  bool is_new = false;
  return a.stacks.intern(frames.data(), kDepth, platform::Walk::kRoot, &is_new);
}

// A sample of it that lives and dies.
inline void pass(ScopedArena& a, uint64_t stack, uint64_t size_bytes = 100) {
  const uint32_t id = intern(a, stack);
  ASSERT_NE(StackTable::kNone, id);
  const Weight weight = weigh(size_bytes, 4096);
  a.stacks.add_allocated(id, size_bytes, weight);
  a.stacks.add_freed(id, size_bytes, weight, 1000 + stack);
  a.stacks.release(id);
}

struct Sums {
  uint64_t samples = 0;
  uint64_t size_bytes = 0;
  double weight_bytes = 0;
  double variance_bytes = 0;
  uint64_t freed = 0;
  double lifetime_ns = 0;
};

inline Sums sums_of(const Snapshot& s) {
  Sums sums;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    sums.samples += stack.allocated.samples;
    sums.size_bytes += stack.allocated.size_bytes;
    sums.weight_bytes += stack.allocated.weight_bytes;
    sums.variance_bytes += stack.allocated.variance_bytes;
    sums.freed += stack.freed.samples;
    sums.lifetime_ns += stack.lifetime_ns;
  }
  return sums;
}

}  // namespace memprof::testing_support::passes
