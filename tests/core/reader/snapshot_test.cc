// SPDX-License-Identifier: Apache-2.0
#include "core/reader/snapshot.h"

#include <gtest/gtest.h>

#include "core/engine/reported.h"
#include "core/sampling/weight.h"
#include "core/tables/heap_names.h"
#include "platform/process.h"
#include "platform/stack.h"
#include "tests/core/reader/filled_arena.h"
#include "tests/core/reader/writers.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {
namespace {

using platform::Walk;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

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

TEST(Snapshot, AStackThatIsNotPublishedYetIsEmpty) {
  ScopedArena a;
  fill(a, 0);
  ASSERT_NE(Arena::kNoOffset, a.arena.allocate(kStackSection, sizeof(StackEntry)));
  const auto s = take(a.arena);
  ASSERT_EQ(11u, s->stacks.size);
  EXPECT_EQ(0u, s->stacks.data[10].frame_count);
  EXPECT_EQ(0u, s->stacks.data[10].allocated.samples);
}

TEST(Snapshot, WritersThatGoOnAreTheNormalCase) {
  ScopedArena a({8192, 20000, 64});
  read_what_is_written(
      a, 6, [](uint64_t size) { return 1 + size % kDeepest; },
      [&] {
        auto s = take(a.arena);
        walk_over(*s);
        return s;
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
  ASSERT_TRUE(a.live.insert({{0x7f0000001000 | reported::kBit, 10, 0, 0, stack, 1}}));
  ASSERT_TRUE(a.live.insert({{0x7f0000001000, 20, 0, 0, stack, 1}}));
  const SnapshotPointer s = take(a.arena);
  ASSERT_EQ(2u, s->records.size);
  EXPECT_EQ(0x7f0000001000u, s->records.data[0].address);
  EXPECT_EQ(0x7f0000001000u, s->records.data[1].address);
}

}  // namespace
}  // namespace memprof::snapshot_test
