// SPDX-License-Identifier: Apache-2.0
// The peak and the end of a process in snapshots (core/reader/snapshot_peak.cc, Snapshot::find_end).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "core/reader/snapshot.h"
#include "core/tables/peak.h"
#include "platform/stack.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_peak_test {
namespace {

using testing_support::Random;
using testing_support::ScopedArena;
using testing_support::take;

uint32_t enter_stack(ScopedArena& a) {
  const uint64_t frame = 0x400000;
  bool is_new = false;
  return a.stacks.intern(&frame, 1, platform::Walk::kRoot, &is_new);
}

TEST(SnapshotPeak, AnArenaOfTheVersionBeforeHasNone) {
  ScopedArena a;
  ArenaHeader& h = a.arena.header();
  h.version = kOldestArenaVersion;
  h.header_bytes = kVersion6HeaderBytes;
  h.section_count = kFirstSections;
  const uint32_t stack = enter_stack(a);
  ASSERT_TRUE(a.live.insert({{0x1000, 64, 1, 5, stack, 1}}));
  h.later_sections[0].offset = 12345;  // whatever was there
  const auto s = take(a.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(1u, s->records.size);
  EXPECT_EQ(0u, s->peaks.size);
  EXPECT_EQ(0u, s->peak.time_ns);
}

// The first arenas of version 9 end before what allocators count.
TEST(SnapshotPeak, OfTheFirstArenasOfVersion9ThereAreNoCounts) {
  ScopedArena a;
  ArenaHeader& h = a.arena.header();
  const uint32_t stack = enter_stack(a);
  ASSERT_TRUE(a.live.insert({{0x1000, 64, 1, 5, stack, 1}}));
  h.peak.resident_bytes = 5 << 20;
  h.counted.peak_files_bytes = 12345;
  h.counted.peak_free_bytes = 23456;
  const auto now = take(a.arena);
  ASSERT_NE(nullptr, now);
  EXPECT_EQ(12345u, now->peak.files_bytes);
  h.version = 9;
  h.section_count = kVersion9Sections;
  h.header_bytes = kVersion9HeaderBytes;
  EXPECT_EQ(12345u, take(a.arena)->peak.files_bytes) << "the last ones have them";
  h.header_bytes = offsetof(ArenaHeader, counted);
  const auto before = take(a.arena);
  ASSERT_NE(nullptr, before);
  EXPECT_EQ(1u, before->records.size);
  EXPECT_EQ(uint64_t{5} << 20, before->peak.resident_bytes);
  EXPECT_EQ(0u, before->peak.files_bytes) << "whatever lies there";
  EXPECT_EQ(0u, before->peak.free_bytes);
}

// What somebody else wrote there is made a sum over samples.
TEST(SnapshotPeak, GarbageIsMadePlausible) {
  ScopedArena a;
  const uint32_t stack = enter_stack(a);
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    auto* words = a.arena.at<uint64_t>(kPeakSection);
    for (size_t w = 0; w < sizeof(StackPeak) / sizeof(uint64_t); ++w) words[w] = random.next();
    a.arena.header().peak.climb = random.next();
    words[7] = random.next() % 2 != 0 ? a.arena.header().peak.climb.load() : words[7];
    const auto s = take(a.arena);
    const SnapshotTotals& t = s->peaks.data[stack];
    EXPECT_GE(t.weight_bytes, static_cast<double>(t.size_bytes));
    EXPECT_GE(t.weight_count, static_cast<double>(t.samples));
    EXPECT_GE(t.variance_bytes, 0);
    EXPECT_GE(t.max_missed_count, 0);
    EXPECT_LT(s->peak.weight_bytes, 1e301);
  }
}

struct AtTheEnd {
  AtTheEnd() : stack(enter_stack(a)) {
    for (uint64_t i = 1; i <= 4; ++i) {
      EXPECT_TRUE(a.live.insert({{0x1000 * i, 64, 1, 100 * i, stack, 1}}));
    }
  }
  void free(uint64_t address, const KeptFrom& kept) {
    LiveSample freed{};
    EXPECT_TRUE(a.live.erase(address, a.live.find(address), &freed, kept));
    EXPECT_FALSE(a.live.find(address));
  }
  void begin_end(EndBegun by, uint64_t at_ns) {
    a.arena.header().ending.begun_ns = at_ns;
    a.arena.header().ending.begun_by = static_cast<uint64_t>(by);
  }
  uint64_t records() { return take(a.arena)->records.size; }

  ScopedArena a;
  uint32_t stack;
};

TEST(SnapshotEnd, WhatIsFreedAfterItBeganIsLiveForWhoComesLater) {
  AtTheEnd end;
  end.free(0x1000, {});
  end.begin_end(EndBegun::kByExit, 350);
  end.free(0x2000, {kKeptByExitBit, 350});
  end.free(0x4000, {kKeptByExitBit, 350});  // allocated after the end had begun
  EXPECT_EQ(1u, end.records());             // it has not ended: what is live now
  end.a.arena.header().end_ns = 500;
  const auto s = take(end.a.arena);
  EXPECT_EQ(350u, s->end_begun_ns);
  ASSERT_EQ(2u, s->records.size);
  EXPECT_EQ(0x2000u, s->records.data[0].address);
  EXPECT_EQ(0x3000u, s->records.data[1].address);
  EXPECT_EQ(1u, end.a.live.size());
}

TEST(SnapshotEnd, WhatIsAllocatedInItWasNotThereBefore) {
  AtTheEnd end;
  end.begin_end(EndBegun::kByExit, 350);
  end.a.arena.header().end_ns = 500;
  EXPECT_EQ(3u, end.records());
}

TEST(SnapshotEnd, ARuntimeThatEndsLongBeforeDoesNotCount) {
  AtTheEnd end;
  end.begin_end(EndBegun::kByRuntime, 250);
  end.free(0x1000, {kKeptByRuntimeBit, 250});
  end.a.arena.header().end_ns = 250 + kRuntimeEndSeconds * 1000000000;
  EXPECT_EQ(2u, end.records());
  end.a.arena.header().end_ns = 251 + kRuntimeEndSeconds * 1000000000;
  EXPECT_EQ(3u, end.records());  // what is live now
  EXPECT_EQ(0u, take(end.a.arena)->end_begun_ns);
}

TEST(SnapshotEnd, APeakThatWasOpenThenIsThatOfTheRecords) {
  AtTheEnd end;
  end.begin_end(EndBegun::kByExit, 450);
  end.a.arena.header().ending.begun_climb = 4;
  end.a.arena.header().peak.climb = 5;  // closed by what is freed in the end
  end.a.arena.header().peak.time_ns = 400;
  end.a.arena.header().end_ns = 500;
  EXPECT_EQ(256, take(end.a.arena)->peak.weight_bytes);
  end.a.arena.header().peak.climb = 6;  // opened again: higher than then
  EXPECT_EQ(0, take(end.a.arena)->peak.weight_bytes);
  end.a.arena.header().peak.climb = 5;
  end.a.arena.header().ending.begun_climb = 5;
  EXPECT_EQ(0, take(end.a.arena)->peak.weight_bytes);
  end.a.arena.header().ending.begun_climb = 4;
  end.a.arena.header().peak.time_ns = 460;  // what the end allocated made it higher
  EXPECT_EQ(0, take(end.a.arena)->peak.weight_bytes);
}

TEST(SnapshotEnd, AKeptRecordDoesNotHideANewOneAtItsAddress) {
  AtTheEnd end;
  end.begin_end(EndBegun::kByExit, 350);
  end.free(0x1000, {kKeptByExitBit, 350});
  ASSERT_TRUE(end.a.live.insert({{0x1000, 32, 1, 400, end.stack, 1}}));
  EXPECT_TRUE(end.a.live.find(0x1000));
  end.free(0x1000, {kKeptByExitBit, 350});
  end.a.arena.header().end_ns = 500;
  EXPECT_EQ(3u, end.records());
}

}  // namespace
}  // namespace memprof::snapshot_peak_test
