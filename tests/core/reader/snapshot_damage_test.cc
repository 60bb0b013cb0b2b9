// SPDX-License-Identifier: Apache-2.0
// What is damaged, cut or no arena at all.
#include "core/reader/snapshot.h"

#include <gtest/gtest.h>

#include "core/tables/heap_names.h"
#include "platform/modules.h"
#include "tests/core/reader/filled_arena.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {
namespace {

using platform::Walk;
using testing_support::copy_file_of;
using testing_support::GuardedMemory;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

SnapshotPointer read(const void* base, uint64_t length, bool* is_arena) {
  return SnapshotPointer(Snapshot::read(base, length, is_arena));
}

TEST(Snapshot, WhatIsNoArenaIsRefused) {
  ScopedArena a;
  fill(a, 10);
  const uint64_t length = a.header().total_bytes;
  bool is_arena = true;
  EXPECT_EQ(nullptr, read(nullptr, length, &is_arena));
  EXPECT_FALSE(is_arena);
  EXPECT_EQ(nullptr, read(a.arena.base() + 4, length - 4, &is_arena));
  const auto refuses_changed = [&](auto* field, auto value) {
    const auto kept = *field;
    *field = value;
    is_arena = true;
    EXPECT_EQ(nullptr, read(a.arena.base(), length, &is_arena));
    EXPECT_FALSE(is_arena);
    *field = kept;
  };
  ArenaHeader& h = a.arena.header();
  const uint64_t magic = h.magic.load();
  h.magic = 0;
  EXPECT_EQ(nullptr, read(a.arena.base(), length, &is_arena));
  h.magic = magic;
  refuses_changed(&h.version, kArenaVersion + 1);
  refuses_changed(&h.header_bytes, h.header_bytes + 8);
  refuses_changed(&h.byte_order, 0x04030201u);
  refuses_changed(&h.section_count, h.section_count - 1);
  for (Section& section : h.sections) {
    refuses_changed(&section.offset, uint64_t{0});
    refuses_changed(&section.offset, section.offset + 8);
    refuses_changed(&section.offset, length + kPageBytes);
    refuses_changed(&section.offset, UINT64_MAX - kPageBytes + 1);
    refuses_changed(&section.capacity_bytes, length);
    refuses_changed(&section.capacity_bytes, uint64_t{UINT64_MAX});
  }
  const uint32_t open = h.live_levels.open;
  for (const uint32_t levels : {h.live_levels.limit + 1, kMaxLevels + 1, UINT32_MAX}) {
    h.live_levels.open = levels;
    EXPECT_EQ(nullptr, read(a.arena.base(), length, &is_arena)) << levels;
  }
  h.live_levels.open = open;
  EXPECT_NE(nullptr, read(a.arena.base(), length, &is_arena));
  EXPECT_TRUE(is_arena);
}

TEST(Snapshot, ATruncatedArenaIsNeverReadBeyondItsEnd) {
  ScopedArena a;
  fill(a, 900);
  const uint64_t total = a.header().total_bytes;
  std::vector<uint64_t> lengths{0, 1, 8, 100, kPageBytes - 1, kPageBytes, kPageBytes + 1};
  for (const Section& section : a.header().sections) {
    lengths.push_back(section.offset);
    lengths.push_back(section.offset + 8);
    lengths.push_back(section.offset + section.capacity_bytes - 1);
  }
  for (const uint64_t length : lengths) {
    const GuardedMemory copy(length);
    copy_file_of(a.arena, copy.data(), length);
    bool is_arena = true;
    EXPECT_EQ(nullptr, read(copy.data(), length, &is_arena)) << length;
    EXPECT_FALSE(is_arena);
  }
  const GuardedMemory whole(total);
  copy_file_of(a.arena, whole.data(), total);
  bool is_arena = false;
  const auto s = read(whole.data(), total, &is_arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(900u, s->records.size);
  walk_over(*s);
}

TEST(Snapshot, GarbageInTheTablesIsLeftOut) {
  ScopedArena a;
  fill(a, 300);
  // A stack that does not exist; one whose frames are elsewhere; a name that is none; a depth beyond all
  // limits.
  a.live.insert({{0x8000, 64, 4096, 1, 4000000000u, 1}});
  a.stacks.entry(0).first_frame = UINT64_MAX - 7;
  a.stacks.entry(1).depth = UINT16_MAX;
  a.stacks.entry(2).walk = 77;
  a.stacks.entry(3).first_frame = a.header().section(kFrameSection).used_bytes.load();
  a.arena.at<ModuleEntry>(kModuleSection)->path = 12345;
  a.arena.at<ModuleEntry>(kModuleSection)->build_id_size = 4000000000u;
  const auto s = take(a.arena);
  EXPECT_EQ(300u, s->records.size);
  EXPECT_EQ(0u, s->stacks.data[0].frame_count);
  EXPECT_EQ(0u, s->stacks.data[1].frame_count);
  EXPECT_EQ(static_cast<uint32_t>(Walk::kNoRule), s->stacks.data[2].walk);
  EXPECT_EQ(0u, s->stacks.data[3].frame_count);
  ASSERT_EQ(1u, s->modules.size);
  EXPECT_EQ(0u, s->modules.data[0].path_offset);
  EXPECT_EQ(platform::kMaxBuildIdBytes, s->modules.data[0].build_id_size);
  walk_over(*s);
}

TEST(Snapshot, RandomDamageIsNeverFollowedOutside) {
  ScopedArena a;
  fill(a, 900);
  const uint64_t total = a.header().total_bytes;
  const GuardedMemory copy(total);
  copy_file_of(a.arena, copy.data(), total);
  Random random(17);
  uint64_t read_whole = 0;
  for (uint64_t round = 0; round < scaled(4000); ++round) {
    std::vector<std::pair<uint64_t, uint64_t>> undo;
    const uint64_t damages = 1 + random.below(8);
    for (uint64_t i = 0; i < damages; ++i) {
      // Half of them in the header behind the magic, where they do most.
      const uint64_t where =
          random.below(2) == 0 ? 40 + random.below(sizeof(ArenaHeader) - 48) : random.below(total - 8);
      uint64_t value = random.next() >> random.below(64);
      value = random.below(4) == 0 ? uint64_t{0} - value : value;
      uint64_t before = 0;
      memcpy(&before, copy.data() + where, 8);
      undo.emplace_back(where, before);
      memcpy(copy.data() + where, &value, 8);
    }
    bool is_arena = false;
    if (const auto s = read(copy.data(), total, &is_arena)) {
      walk_over(*s);
      ++read_whole;
    }
    while (!undo.empty()) {
      memcpy(copy.data() + undo.back().first, &undo.back().second, 8);
      undo.pop_back();
    }
  }
  EXPECT_GT(read_whole, scaled(4000) / 10);  // much of the damage goes past the first checks
}

// The sizes in the header are believed as they were when they were checked.
TEST(Snapshot, AHeaderThatChangesWhileItIsReadIsNotFollowedOutside) {
  ScopedArena a;
  fill(a, 900);
  const uint64_t total = a.header().total_bytes;
  const GuardedMemory copy(total);
  copy_file_of(a.arena, copy.data(), total);
  auto& h = *reinterpret_cast<ArenaHeader*>(copy.data());
  std::atomic<bool> stop{false};
  const auto flip = [](uint64_t& word, uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELAXED); };
  uint64_t read_whole = 0;
  run_threads(2, [&](int thread) {
    if (thread == 0) {
      for (bool large = false; !stop; large = !large) {
        for (const SectionId id : {kStackSection, kFrameSection, kModuleSection}) {
          h.section(id).used_bytes = large ? UINT64_MAX : 64;
          // As much as there is behind the start of the section, or very little.
          flip(h.section(id).capacity_bytes, large ? total - h.section(id).offset : 4096);
        }
      }
      return;
    }
    for (uint64_t i = 0; i < scaled(3000); ++i) {
      bool is_arena = false;
      if (const auto s = read(copy.data(), total, &is_arena)) {
        walk_over(*s);
        ++read_whole;
      }
    }
    stop = true;
  });
  EXPECT_GT(read_whole, 0u);
}

}  // namespace
}  // namespace memprof::snapshot_test
