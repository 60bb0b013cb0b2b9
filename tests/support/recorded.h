// SPDX-License-Identifier: Apache-2.0
// Blocks that are recorded in this process's profiler and never allocated.
#pragma once

#include <gtest/gtest.h>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::testing_support::recorded {

inline constexpr Limits kLimits{1 << 16, 4096, 64};

inline const void* block_at(uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

inline void record(uint64_t address, uint64_t size_bytes = 100, uint64_t rate_bytes = 4096,
                   uint64_t caller = 0x401000) {
  const FakeStack stack(caller);
  profiler::record_allocation(block_at(address), size_bytes, rate_bytes, stack.entry());
}

inline void start_at(uint64_t rate_bytes, const Limits& limits = kLimits) {
  ASSERT_EQ(Status::kOk, profiler::initialize(limits, rate_bytes));
  ASSERT_EQ(Status::kOk, profiler::start());
}

inline SnapshotPointer take_own() {
  return take(profiler::arena());
}

}  // namespace memprof::testing_support::recorded
