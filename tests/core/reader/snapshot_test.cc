// SPDX-License-Identifier: Apache-2.0
#include "core/reader/snapshot.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "core/engine/reported.h"
#include "core/sampling/weight.h"
#include "core/tables/heap_names.h"
#include "format/runtime_frame.h"
#include "platform/modules.h"
#include "platform/process.h"
#include "platform/stack.h"
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

// Everything that a caller may read of a snapshot, read: an index or an offset that leads outside is a fault.
uint64_t walk_over(const Snapshot& s) {
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
void fill(ScopedArena& a, uint64_t records) {
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
        {0x7f0000000000 + i * 32, 64 + i % 3, 4096 + i % 2, 1000 + i, static_cast<uint32_t>(i % 10), 7}));
  }
  const uint64_t here[] = {reinterpret_cast<uint64_t>(&fill)};
  a.modules.note(here, 1);
}

TEST(Snapshot, OfAnEmptyArenaIsEmpty) {
  ScopedArena a;
  const auto s = take(a.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0u, s->records.size + s->stacks.size + s->frames.size + s->modules.size);
  EXPECT_EQ(1u, s->strings.size);
  EXPECT_EQ(0.0, s->live_weight_bytes);
  EXPECT_EQ(0.0, s->live_weight_count);
  EXPECT_EQ(platform::process_id(), s->process_id);
  EXPECT_STREQ(platform::program_path(), s->program());
  EXPECT_NE(nullptr, s->records.data);
  EXPECT_EQ(nullptr, s->symbols.data);
  walk_over(*s);
}

TEST(Snapshot, CopiesRecordsInOrderWithTheirWeights) {
  ScopedArena a;
  fill(a, 700);
  const auto s = take(a.arena);
  ASSERT_EQ(700u, s->records.size);
  double bytes = 0, count = 0;
  for (uint64_t i = 0; i < s->records.size; ++i) {
    const SnapshotRecord& r = s->records.data[i];
    const uint64_t n = (r.address - 0x7f0000000000) / 32;
    EXPECT_EQ(64 + n % 3, r.size_bytes);
    EXPECT_EQ(4096 + n % 2, r.rate_bytes);
    EXPECT_EQ(1000 + n, r.time_ns);
    EXPECT_EQ(n % 10, r.stack_id);
    EXPECT_EQ(7u, r.thread_id);
    EXPECT_EQ(weigh(r.size_bytes, r.rate_bytes).bytes, r.weight_bytes);
    EXPECT_EQ(weigh(r.size_bytes, r.rate_bytes).count, r.weight_count);
    bytes += r.weight_bytes;
    count += r.weight_count;
    if (i > 0) {
      const SnapshotRecord& b = s->records.data[i - 1];
      EXPECT_LT(std::make_tuple(b.stack_id, b.size_bytes, b.rate_bytes, b.address),
                std::make_tuple(r.stack_id, r.size_bytes, r.rate_bytes, r.address));
    }
  }
  EXPECT_DOUBLE_EQ(bytes, s->live_weight_bytes);
  EXPECT_DOUBLE_EQ(count, s->live_weight_count);
}

TEST(Snapshot, CopiesStacksFramesAndTotals) {
  ScopedArena a;
  fill(a, 0);
  bool is_new = false;
  const uint64_t frame = 0x999000;
  const uint32_t id = a.stacks.intern(&frame, 1, Walk::kRoot, &is_new);
  const Weight w = weigh(500, 4096);
  a.stacks.add_allocated(id, 500, w);
  a.stacks.add_allocated(id, 500, w);
  a.stacks.add_freed(id, 500, w, 1234);
  const auto s = take(a.arena);
  ASSERT_EQ(11u, s->stacks.size);
  for (uint64_t i = 0; i < 10; ++i) {
    const SnapshotStack& stack = s->stacks.data[i];
    ASSERT_EQ(1 + i, stack.frame_count);
    EXPECT_EQ(i % platform::kWalkReasons, stack.walk);
    for (uint64_t f = 0; f < stack.frame_count; ++f) {
      EXPECT_EQ(0x400000 + i * 0x1000 + f * 16, s->frames.data[stack.first_frame + f]);
    }
    EXPECT_EQ(1u, stack.allocated.samples);
    EXPECT_EQ(0u, stack.min_lifetime_ns);
  }
  const SnapshotStack& stack = s->stacks.data[id];
  const double missed = 1 - w.probability;
  EXPECT_EQ(2u, stack.allocated.samples);
  EXPECT_EQ(1000u, stack.allocated.size_bytes);
  EXPECT_DOUBLE_EQ(2 * w.bytes, stack.allocated.weight_bytes);
  EXPECT_DOUBLE_EQ(2 * w.count, stack.allocated.weight_count);
  EXPECT_DOUBLE_EQ(2 * missed * w.bytes * w.bytes, stack.allocated.variance_bytes);
  EXPECT_DOUBLE_EQ(2 * missed * w.count * w.count, stack.allocated.variance_count);
  EXPECT_DOUBLE_EQ(missed * w.bytes, stack.allocated.max_missed_bytes);
  EXPECT_DOUBLE_EQ(missed * w.count, stack.allocated.max_missed_count);
  EXPECT_EQ(1u, stack.freed.samples);
  EXPECT_EQ(0.0, stack.freed.variance_bytes);
  EXPECT_NEAR(1234 * w.count, stack.lifetime_ns, 1234 * w.count * 0.5);
  EXPECT_EQ(1000u, stack.min_lifetime_ns);
  EXPECT_EQ(3000u, stack.max_lifetime_ns);
}

TEST(Snapshot, StaysAsItIsWhenTheArenaGoesOn) {
  ScopedArena a;
  fill(a, 100);
  const auto s = take(a.arena);
  const uint64_t sum = walk_over(*s);
  for (uint64_t i = 0; i < 100; ++i) {
    LiveSample erased{};
    EXPECT_TRUE(a.live.erase(0x7f0000000000 + i * 32, &erased));
  }
  fill(a, 50);
  EXPECT_EQ(sum, walk_over(*s));
  EXPECT_EQ(100u, s->records.size);
  EXPECT_EQ(50u, take(a.arena)->records.size);
}

TEST(Snapshot, CanBeReleasedInAnyOrder) {
  ScopedArena a;
  fill(a, 10);
  SnapshotPointer first = take(a.arena);
  SnapshotPointer second = take(a.arena);
  SnapshotPointer third = take(a.arena);
  EXPECT_GE(second->resolve_symbols(), 0);
  second.reset();
  first.reset();
  walk_over(*third);
  Snapshot::release(nullptr);
}

TEST(Snapshot, ModulesAreKeptOnceAndWhatWasLoadedOverThemToo) {
  ScopedArena a;
  const auto enter = [&a](const char* path, uint64_t start, uint64_t limit, uint8_t build_id) {
    const uint64_t offset = a.arena.allocate(kModuleSection, sizeof(ModuleEntry));
    ModuleEntry& e = *a.arena.at<ModuleEntry>(kModuleSection, offset);
    e.path = a.names.intern(path, strlen(path));
    e.start = start;
    e.limit = limit;
    e.build_id_size = build_id != 0 ? 20 : 0;
    memset(e.build_id, build_id, e.build_id_size);
    e.state.store(ModuleTable::kReady | ModuleTable::kPrimary);
  };
  enter("/lib/a.so", 0x10000, 0x20000, 1);
  enter("/lib/b.so", 0x30000, 0x40000, 2);
  enter("/lib/a.so", 0x10000, 0x20000, 1);  // the slower thread of a race, with another module in between
  enter("/lib/c.so", 0x10000, 0x20000, 3);  // loaded where a.so was
  enter("/lib/a.so", 0x10000, 0x20000, 1);  // and a.so again: it is the entry that it was
  enter("/lib/d.so", 0x50000, 0x60000, 0);  // two without build id, one after the other at one place
  enter("/lib/e.so", 0x50000, 0x60000, 0);
  enter("/lib/none.so", 0x70000, 0x70000, 4);  // empty
  const auto tagged = [](uint64_t entry, uint64_t address) { return (entry + 1) << 48 | address; };
  const uint64_t frames[] = {0x10010,
                             tagged(3, 0x10010),
                             tagged(2, 0x10010),
                             0x55555,
                             tagged(6, 0x55555),
                             tagged(7, 0x70001),
                             tagged(99, 0x1),
                             0x99999};
  bool is_new = false;
  a.stacks.intern(frames, 8, Walk::kRoot, &is_new);
  const auto s = take(a.arena);
  const uint32_t modules[] = {0, 2, 0, 3, 4, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  ASSERT_EQ(8u, s->frame_modules.size);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(modules[i], s->frame_modules.data[i]) << i;
    EXPECT_EQ(frames[i] & 0xffffffffffff, s->frames.data[i]);
  }
  std::string order;
  for (uint64_t i = 0; i < s->modules.size; ++i) {
    order += s->strings.data + s->modules.data[i].path_offset;
  }
  EXPECT_EQ("/lib/a.so/lib/b.so/lib/c.so/lib/d.so/lib/e.so", order);
  walk_over(*s);
}

TEST(Snapshot, AStackThatIsNotPublishedYetIsEmpty) {
  ScopedArena a;
  fill(a, 0);
  ASSERT_NE(Arena::kNoOffset, a.arena.allocate(kStackSection, sizeof(StackEntry)));
  const auto s = take(a.arena);
  ASSERT_EQ(11u, s->stacks.size);
  EXPECT_EQ(0u, s->stacks.data[10].frame_count);
  EXPECT_EQ(0u, s->stacks.data[10].allocated.samples);
}

TEST(Snapshot, ResolvesTheNamesOfExportedFunctions) {
  ScopedArena a;
  const uint64_t start = reinterpret_cast<uint64_t>(&gnu_get_libc_version);
  const uint64_t frames[] = {start + 3, 0x1234, start + 3, start + 4};
  bool is_new = false;
  a.stacks.intern(frames, 4, Walk::kRoot, &is_new);
  const auto s = take(a.arena);
  ASSERT_EQ(3, s->resolve_symbols());
  ASSERT_EQ(4u, s->symbols.size);
  EXPECT_STREQ("gnu_get_libc_version", s->strings.data + s->symbols.data[0].name_offset);
  EXPECT_EQ(3u, s->symbols.data[0].symbol_offset);
  EXPECT_EQ(0u, s->symbols.data[1].name_offset);
  EXPECT_EQ(0u, s->symbols.data[1].symbol_offset);
  EXPECT_EQ(s->symbols.data[0].name_offset, s->symbols.data[2].name_offset);
  EXPECT_EQ(4u, s->symbols.data[3].symbol_offset);
  EXPECT_EQ(3, s->resolve_symbols());  // again: the same
  EXPECT_STREQ("gnu_get_libc_version", s->strings.data + s->symbols.data[3].name_offset);
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
  a.live.insert({0x8000, 64, 4096, 1, 4000000000u, 1});
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

TEST(Snapshot, WritersThatGoOnAreTheNormalCase) {
  ScopedArena a({8192, 20000, 64});
  std::atomic<int> writers{6};
  run_threads(8, [&](int thread) {
    if (thread >= 6) {
      uint64_t snapshots = 0;
      do {
        const auto s = take(a.arena);
        walk_over(*s);
        ++snapshots;
        for (uint64_t i = 0; i < s->records.size; ++i) {
          const SnapshotRecord& r = s->records.data[i];
          // Each record names the stack whose only frame is its size.
          const SnapshotStack& stack = s->stacks.data[r.stack_id];
          ASSERT_EQ(1 + r.size_bytes % 20, stack.frame_count);
          ASSERT_EQ(r.size_bytes, s->frames.data[stack.first_frame]);
          ASSERT_EQ(r.size_bytes, s->frames.data[stack.first_frame + stack.frame_count - 1]);
          ASSERT_EQ(r.size_bytes * 2, r.rate_bytes);
        }
      } while (writers.load() != 0);
      EXPECT_GT(snapshots, 0u);
      return;
    }
    Random random(static_cast<uint64_t>(thread));
    uint64_t held[256] = {};
    for (uint64_t i = 0; i < scaled(300000); ++i) {
      const uint64_t which = random.below(256);
      const uint64_t address = 0x100000 + (static_cast<uint64_t>(thread) * 256 + which) * 16;
      if (held[which] != 0) {
        LiveSample erased{};
        EXPECT_TRUE(a.live.erase(address, &erased));
        held[which] = 0;
        continue;
      }
      // New stacks come all the time.
      const uint64_t size = 1 + random.below(100 + i / 20);
      uint64_t frames[20];
      std::fill(frames, frames + 20, size);
      bool is_new = false;
      const uint32_t stack = a.stacks.intern(frames, 1 + size % 20, Walk::kRoot, &is_new);
      ASSERT_NE(StackTable::kNone, stack);
      a.stacks.add_allocated(stack, size, weigh(size, size * 2));
      EXPECT_TRUE(a.live.insert({address, size, size * 2, i + 1, stack, 1}));
      held[which] = size;
    }
    --writers;
  });
}

// What a report asks of a profile's own sums: each sample that is counted is in them.  Else it takes them for
// another program's, as it did of processes whose threads allocated while they ended.
bool are_plausible(const SnapshotTotals& t) {
  constexpr double kRounding = 1 + 1e-9;
  return (t.samples != 0 || t.weight_count == 0) &&
         static_cast<double>(t.samples) <= t.weight_count * kRounding &&
         static_cast<double>(t.size_bytes) <= t.weight_bytes * kRounding;
}

TEST(Snapshot, TheSumsOfAStackThatThreadsAddToFitTogether) {
  ScopedArena a;
  bool is_new = false;
  uint32_t stacks[4];
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t frame = 0x401000 + i * 16;
    stacks[i] = a.stacks.intern(&frame, 1, Walk::kRoot, &is_new);
  }
  // Between two stores of a thread that adds its first.
  a.stacks.entry(stacks[3]).allocated.weight_bytes = 64;
  a.stacks.entry(stacks[3]).allocated.weight_count = 1;
  std::atomic<bool> done{false};
  run_threads(4, [&](int thread) {
    if (thread == 3) {
      for (uint64_t i = 0; i < scaled(20000); ++i) {
        const auto s = take(a.arena);
        for (uint64_t k = 0; k < s->stacks.size; ++k) {
          ASSERT_TRUE(are_plausible(s->stacks.data[k].allocated)) << k;
          ASSERT_TRUE(are_plausible(s->stacks.data[k].freed)) << k;
        }
      }
      done = true;
      return;
    }
    while (!done) {
      const Weight exact = weigh(64, 0);
      a.stacks.add_allocated(stacks[thread], 64, exact);
      a.stacks.add_freed(stacks[thread], 64, exact, 1);
    }
  });
}

TEST(Snapshot, HeapsHaveTheirNamesAndGarbageHasNone) {
  ScopedArena a;
  bool is_new = false;
  const uint64_t frame = 1;
  for (const uint32_t heap : {0u, 1u, 2u, 3u, 500u, 65535u}) {
    a.stacks.intern(&frame, 1, Walk::kRoot, &is_new, heap);
  }
  ASSERT_EQ(0u,
            a.arena.allocate(kHeapSection, section_capacity(kHeapSection, testing_support::kSmallLimits)));
  HeapEntry* entries = a.arena.at<HeapEntry>(kHeapSection);
  entries[0] = a.names.intern("of no heap", 10) + 1;
  entries[1] = a.names.intern("pool:a", 6) + 1;
  entries[2] = 12345;  // no such name
  entries[3] = a.names.intern("pool:c", 6) + 1;
  const SnapshotPointer s = take(a.arena);
  walk_over(*s);
  ASSERT_EQ(4u, s->heaps.size);
  EXPECT_EQ(0u, s->heaps.data[0].name_offset);
  EXPECT_STREQ("pool:a", s->strings.data + s->heaps.data[1].name_offset);
  EXPECT_EQ(0u, s->heaps.data[2].name_offset);
  EXPECT_STREQ("pool:c", s->strings.data + s->heaps.data[3].name_offset);
  const std::vector<uint32_t> expected = {0, 1, 2, 3, 0, 0};
  EXPECT_EQ(expected, std::vector<uint32_t>(s->stack_heaps.data, s->stack_heaps.data + s->stack_heaps.size));
}

TEST(Snapshot, AReportedBlockHasItsAddress) {
  ScopedArena a;
  bool is_new = false;
  const uint64_t frame = 1;
  const uint32_t stack = a.stacks.intern(&frame, 1, Walk::kRoot, &is_new);
  ASSERT_TRUE(a.live.insert({0x7f0000001000 | reported::kBit, 10, 0, 0, stack, 1}));
  ASSERT_TRUE(a.live.insert({0x7f0000001000, 20, 0, 0, stack, 1}));
  const SnapshotPointer s = take(a.arena);
  ASSERT_EQ(2u, s->records.size);
  EXPECT_EQ(0x7f0000001000u, s->records.data[0].address);
  EXPECT_EQ(0x7f0000001000u, s->records.data[1].address);
}

}  // namespace
}  // namespace memprof::snapshot_test
