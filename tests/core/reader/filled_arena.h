// SPDX-License-Identifier: Apache-2.0
// An arena with something in it, and all that a caller may read of a snapshot.
#pragma once

#include "core/reader/snapshot.h"

#include <gtest/gtest.h>

#include "core/sampling/weight.h"
#include "format/runtime_frame.h"
#include "platform/process.h"
#include "platform/stack.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {

using platform::Walk;
using testing_support::ScopedArena;

// Everything that a caller may read of a snapshot, read: an index or an offset that leads outside is a fault.
inline uint64_t walk_over(const Snapshot& s) {
  uint64_t sum = s.process_id + s.rate_bytes + strlen(s.program());
  for (uint64_t i = 0; i < s.records.size; ++i) {
    const SnapshotRecord& r = s.records.data[i];
    EXPECT_LT(r.stack_id, s.stacks.size);
    sum += r.address + r.thread_id;
  }
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    EXPECT_LT(stack.walk, platform::kWalkReasons);
    EXPECT_LE(stack.first_frame, s.frames.size);
    EXPECT_LE(stack.frame_count, s.frames.size - stack.first_frame);
    for (uint64_t f = 0; f < stack.frame_count; ++f) {
      sum += s.frames.data[stack.first_frame + f];
    }
  }
  EXPECT_EQ(s.stacks.size, s.stack_heaps.size);
  for (uint64_t i = 0; i < s.stack_heaps.size; ++i) {
    EXPECT_LT(s.stack_heaps.data[i], s.heaps.size);
  }
  EXPECT_GE(s.heaps.size, 1u);
  for (uint64_t i = 0; i < s.heaps.size; ++i) {
    EXPECT_LT(s.heaps.data[i].name_offset, s.strings.size);
    sum += strlen(s.strings.data + s.heaps.data[i].name_offset);
  }
  for (uint64_t i = 0; i < s.frames.size; ++i) {
    if (is_runtime_frame(s.frames.data[i])) {
      EXPECT_LT(s.frames.data[i] ^ kRuntimeFrame, s.runtime_frames.size);
    }
  }
  for (uint64_t i = 0; i < s.runtime_frames.size; ++i) {
    EXPECT_LT(s.runtime_frames.data[i].name_offset, s.strings.size);
    EXPECT_LT(s.runtime_frames.data[i].file_offset, s.strings.size);
    sum += strlen(s.strings.data + s.runtime_frames.data[i].name_offset);
    sum += strlen(s.strings.data + s.runtime_frames.data[i].file_offset);
  }
  for (uint64_t i = 0; i < s.modules.size; ++i) {
    const SnapshotModule& m = s.modules.data[i];
    EXPECT_LT(m.start, m.limit);
    EXPECT_LE(m.build_id_size, sizeof(m.build_id));
    EXPECT_LT(m.path_offset, s.strings.size);
    sum += strlen(s.strings.data + m.path_offset);
  }
  EXPECT_GE(s.strings.size, 1u);
  EXPECT_EQ('\0', s.strings.data[0]);
  EXPECT_EQ('\0', s.strings.data[s.strings.size - 1]);
  return sum;
}

// A few stacks, modules and records.
inline void fill(ScopedArena& a, uint64_t records) {
  for (uint64_t i = 0; i < 10; ++i) {
    uint64_t frames[16];
    for (uint64_t f = 0; f < 16; ++f) {
      frames[f] = 0x400000 + i * 0x1000 + f * 16;
    }
    bool is_new = false;
    const uint32_t id =
        a.stacks.intern(frames, 1 + i, static_cast<Walk>(i % platform::kWalkReasons), &is_new);
    a.stacks.add_allocated(id, 100 * i, weigh(100 * i, 4096));
  }
  for (uint64_t i = 0; i < records; ++i) {
    EXPECT_TRUE(a.live.insert(
        {{0x7f0000000000 + i * 32, 64 + i % 3, 4096 + i % 2, 1000 + i, static_cast<uint32_t>(i % 10), 7}}));
  }
  const uint64_t here[] = {reinterpret_cast<uint64_t>(&fill)};
  a.modules.note(here, 1);
}

}  // namespace memprof::snapshot_test
