// SPDX-License-Identifier: Apache-2.0
// The text of the profile's comment, which files have had since the first version, byte for byte.
#include "format/pprof/comments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dump/raw_pprof.h"

namespace memprof::profile {
namespace {

std::string comment_of(const RawProfile& facts) {
  CommentText text;
  profile_comment(text, "a b%", 4, facts);
  return {text.data(), text.size()};
}

TEST(Comments, WhatIsMostlyZeroIsLeftOut) {
  RawProfile facts;
  facts.pid = 7;
  EXPECT_EQ(
      "#memprof.profile version=1 program=a%20b%25 pid=7 samples=0 live_samples=0 dropped_samples=0 "
      "dropped_weight_bytes=0 replaced_samples=0 walk_root=0 walk_depth_limit=0 walk_bad_frame=0 "
      "walk_left_stack=0 walk_no_rule=0 walk_middle_left_out=0",
      comment_of(facts));
  facts.import_foreign = 1;
  const std::string text = comment_of(facts);
  const std::string end =
      " import_refused=0 import_foreign=1 import_unbound=0 import_taken=0 import_unseen_ns=0";
  EXPECT_EQ(end, text.substr(text.size() - end.size()));
}

TEST(Comments, FactsStandInTheirOrder) {
  RawProfile facts;
  facts.pid = 7;
  uint64_t value = 0;
  for (const ProfileFact& fact : kProfileFacts) fact.set(&facts, ++value);
  for (uint64_t i = 0; i < kWalkReasons; ++i) facts.walks[i] = 90 + i;
  facts.runtimes[0] = {0x030b, 1, 2, "CPython"};
  facts.runtimes[2] = {0x0102, 1, 2, "a b"};
  EXPECT_EQ(
      "#memprof.profile version=1 program=a%20b%25 pid=7 samples=1 live_samples=2 dropped_samples=3 "
      "dropped_weight_bytes=4 replaced_samples=5 walk_root=90 walk_depth_limit=91 walk_bad_frame=92 "
      "walk_left_stack=93 walk_no_rule=94 walk_middle_left_out=95 peak_after_ns=6 peak_resident=7 "
      "max_resident=8 peak_files=9 peak_free=10 seen_after_ns=11 ended=1 "
      "before_end=1 muted_bytes=14 folded_stacks=15 "
      "thinned_samples=16 unseen_processes=17 uncollected_processes=18 budget_ppm=19 cpu_ns=20 "
      "sampling_ns=21 folded_modules=22 folded_functions=23 "
      "folded_heaps=24 import_refused=25 import_foreign=26 import_unbound=27 dropped_mappings=28 "
      "measured_resident=29 anonymous_mapped=30 anonymous_allocator=31 anonymous_malloc=32 "
      "anonymous_stacks=33 "
      "anonymous_modules=34 anonymous_own=35 anonymous_unseen=36 unsampled_processes=37 import_taken=38 import_unseen_ns=39 bypassing_libraries=40 "
      "small_processes=41 small_allocated=42 "
      "peak_resident_before=1 oom_killed=1 memory_limit=45 pressure=46 memory_used=47 memory_stalled=1 "
      "stall_some=49 stall_full=50 stall_of_machine=1 python=779 python_objects=1 "
      "python_stacks=2 runtime3=258 "
      "runtime3_objects=1 runtime3_stacks=2 runtime3_name=a%20b",
      comment_of(facts));
}

TEST(Comments, RatesAreTriples) {
  constexpr RateUse kUses[] = {{4096, 100, 7}, {6144, 2, 0}};
  CommentText text;
  rates_comment(text, kUses, 2);
  EXPECT_EQ("#memprof.rates used=4096:100:7,6144:2:0", std::string(text.data(), text.size()));
}

TEST(Comments, TheMostRatesFit) {
  std::vector<RateUse> uses(kMaxRates, {UINT64_MAX, UINT64_MAX, UINT64_MAX});
  CommentText text;
  rates_comment(text, uses.data(), uses.size());
  EXPECT_EQ(std::string("#memprof.rates used=").size() + kMaxRates * 63 - 1, text.size());
}

TEST(Comments, TheLongestFits) {
  RawProfile facts;
  facts.pid = UINT64_MAX;
  for (const ProfileFact& fact : kProfileFacts) fact.set(&facts, UINT64_MAX);
  for (uint64_t& walk : facts.walks) walk = UINT64_MAX;
  const std::string long_name(1000, ' ');
  // Of an arena, where each has 32 bits.
  for (RawRuntime& runtime : facts.runtimes) runtime = {UINT32_MAX, UINT32_MAX, UINT32_MAX, long_name};
  CommentText text;
  profile_comment(text, long_name.data(), long_name.size(), facts);
  // The version has one digit.
  EXPECT_EQ(max_of_profile_comment(), text.size() + 19);
}

}  // namespace
}  // namespace memprof::profile
