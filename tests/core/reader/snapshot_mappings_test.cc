// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/mappings/mapping_table.h"
#include "core/reader/snapshot.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_mappings_test {
namespace {

using testing_support::ScopedArena;
using testing_support::take;

bool hold(uint32_t) {
  return true;
}
void release(uint32_t) {}

struct Fixture {
  Fixture() { arena.arena.header().mappings.is_on.store(1); }
  uint32_t stack(uint64_t frame) {
    bool is_new = false;
    const uint64_t frames[] = {frame, 0x5000};
    return arena.stacks.ref(arena.stacks.intern(frames, 2, platform::Walk::kRoot, &is_new));
  }
  void add(uint64_t start, uint64_t limit, uint32_t stack_of_it, MappedBy by = MappedBy::kProgram) {
    MappedRange r;
    r.start = start;
    r.limit = limit;
    r.ticket = ++ticket;
    r.time_ns = 77;
    r.stack = stack_of_it;
    r.thread_id = 5;
    r.by = by;
    table.add(r);
  }
  ScopedArena arena;
  MappingTable table{arena.arena, {hold, release}};
  uint64_t ticket = 0;
};

TEST(SnapshotMappings, OrderedByAddressWithTheirStacks) {
  Fixture f;
  f.add(0x9000, 0xa000, f.stack(0x2000));
  f.add(0x1000, 0x4000, f.stack(0x1000));
  f.add(0x5000, 0x6000, kNoMappingStack, MappedBy::kAllocator);
  f.arena.arena.at<MappingNode>(kMappingSection)[2].resident_bytes.store(0x99999);  // more than there is
  MappingMeasure& m = f.arena.arena.header().mappings.measure;
  m.time_ns.store(5);
  m.resident_bytes.store(6);
  m.parts[static_cast<uint32_t>(MemoryPart::kMalloc)].store(7);
  const auto s = take(f.arena.arena);
  EXPECT_TRUE(s->has_mappings);
  EXPECT_TRUE(s->has_resident_mappings);
  ASSERT_EQ(2u, s->mappings.size);
  const SnapshotMapping& first = s->mappings.data[0];
  EXPECT_EQ(0x1000u, first.start);
  EXPECT_EQ(0x4000u, first.limit);
  EXPECT_EQ(0x3000u, first.resident_bytes);
  EXPECT_EQ(77u, first.time_ns);
  EXPECT_EQ(5u, first.thread_id);
  EXPECT_EQ(0x1000u, s->frames.data[s->stacks.data[first.stack_id].first_frame]);
  EXPECT_EQ(0x9000u, s->mappings.data[1].start);
  EXPECT_EQ(0u, s->records.size);
  EXPECT_EQ(0u, s->counters.samples);
  EXPECT_EQ(5u, s->measured.time_ns);
  EXPECT_EQ(6u, s->measured.resident_bytes);
  EXPECT_EQ(7u, s->measured.parts[static_cast<uint32_t>(MemoryPart::kMalloc)]);
}

// A writer that was killed in the middle of a change, or is hostile.
TEST(SnapshotMappings, WhatCannotBeIsLeftOut) {
  Fixture f;
  const uint32_t stack = f.stack(0x1000);
  for (uint64_t i = 1; i <= 5; ++i) {
    f.add(i * 0x10000, i * 0x10000 + 0x1000, stack);
  }
  MappingNode* nodes = f.arena.arena.at<MappingNode>(kMappingSection);
  nodes[1].limit.store(0x100);         // ends before it begins
  nodes[2].stack.store(12345);         // of no stack
  nodes[3].limit.store(0x48000);       // reaches over the next
  nodes[5].next[0].store(UINT32_MAX);  // the list leads nowhere
  f.arena.arena.header().mappings.head[0].store(0xfffffff);
  f.arena.arena.header().mappings.changes.store(1);
  const auto s = take(f.arena.arena);
  EXPECT_FALSE(s->has_resident_mappings) << "nobody measured";
  ASSERT_EQ(2u, s->mappings.size);
  EXPECT_EQ(0x30000u, s->mappings.data[0].start);
  EXPECT_EQ(0x50000u, s->mappings.data[1].start);
}

TEST(SnapshotMappings, AnOlderArenaHasNone) {
  Fixture f;
  f.add(0x1000, 0x4000, f.stack(0x1000));
  ArenaHeader& h = f.arena.arena.header();
  h.version = 8;
  h.header_bytes = kVersion8HeaderBytes;
  h.section_count = kVersion8Sections;
  const auto s = take(f.arena.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_FALSE(s->has_mappings);
  EXPECT_EQ(0u, s->mappings.size);
  EXPECT_EQ(0u, s->measured.time_ns);
}

}  // namespace
}  // namespace memprof::snapshot_mappings_test
