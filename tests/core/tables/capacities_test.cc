// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/arena/arena.h"
#include "core/tables/heap_map.h"
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"
#include "tests/support/arena.h"

namespace memprof::capacities_test {
namespace {

using testing_support::ScopedArena;

TEST(Capacities, EachSectionHoldsWhatTheLimitsPromise) {
  for (const Limits& limits :
       {Limits{1, 1, 1}, Limits{1024, 256, 64}, kDefaultLimits, Limits{123457, 7919, 1024}}) {
    EXPECT_GE(section_capacity(kLiveSection, limits),
              limits.max_live_samples * (sizeof(uint64_t) + sizeof(LiveRecord)));
    EXPECT_GE(section_capacity(kStackIndexSection, limits), limits.max_stacks * sizeof(uint64_t));
    EXPECT_EQ(section_capacity(kStackSection, limits), limits.max_stacks * sizeof(StackEntry));
    EXPECT_EQ(section_capacity(kPeakSection, limits), limits.max_stacks * sizeof(StackPeak));
    for (uint32_t id = 0; id < kSectionCount; ++id) {
      EXPECT_GT(section_capacity(static_cast<SectionId>(id), limits), 0u) << id;
    }
  }
  EXPECT_EQ(0u, section_capacity(kSectionCount, kDefaultLimits));
}

TEST(Capacities, TablesMayOpenAsManyLevelsAsTheirSectionsHave) {
  ScopedArena a(Limits{5000, 300, 77});
  const ArenaHeader& h = a.header();
  EXPECT_EQ(section_capacity(kLiveSection, h.limits),
            slots_before(h.live_levels.limit) * (sizeof(uint64_t) + sizeof(LiveRecord)));
  EXPECT_EQ(section_capacity(kStackIndexSection, h.limits),
            slots_before(h.stack_levels.limit) * sizeof(uint64_t));
  EXPECT_EQ(section_capacity(kNameIndexSection, h.limits),
            slots_before(h.name_levels.limit) * sizeof(uint64_t));
  EXPECT_EQ(section_capacity(kCodeIndexSection, h.limits),
            slots_before(h.code_levels.limit) * sizeof(uint64_t));
  EXPECT_EQ(section_capacity(kCallerIndexSection, h.limits),
            slots_before(h.caller_levels.limit) * sizeof(uint64_t));
}

TEST(Capacities, WhatIsHandedOutCounts) {
  ScopedArena a(Limits{5000, 300, 77});
  const uint64_t before = used_bytes(a.header());
  ASSERT_NE(Arena::kNoOffset, a.arena.allocate(kFrameSection, 256));
  EXPECT_EQ(before + 256, used_bytes(a.header()));
}

}  // namespace
}  // namespace memprof::capacities_test
