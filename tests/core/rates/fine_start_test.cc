// SPDX-License-Identifier: Apache-2.0
// A rate that starts fine ends at the default one, and the user's ends it.  Each test is a process of its own.
#include "core/rates/fine_start.h"

#include <gtest/gtest.h>

#include "core/engine/profiler.h"
#include "core/hooks/sampled_call.h"
#include "core/sampling/fine_law.h"
#include "core/sampling/sampler.h"
#include "tests/support/engine.h"

namespace memprof::fine_start_test {
namespace {

using testing_support::FakeStack;
using testing_support::hooked_free;
using testing_support::in_child;

constexpr Limits kLimits{65536, 1024, 64};
constexpr uint64_t kMiB = 1 << 20;

Budget fine() {
  Budget budget;
  budget.starts_fine = true;
  return budget;
}

void start(const profiler::Sharing& sharing = {}) {
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, kDefaultRateBytes, sharing, fine()));
  ASSERT_EQ(Status::kOk, profiler::start());
}

ArenaHeader& header() {
  return profiler::arena().header();
}

uint64_t spent_ns() {
  return header().later_statistics.sampling_ns.load();
}

// Blocks of 1 KiB that live shortly.
void allocate(uint64_t bytes) {
  const FakeStack stack(0x401000);
  void* const block = reinterpret_cast<void*>(0x10000000);
  for (uint64_t done = 0; done < bytes; done += 1024) {
    if (sampler_tick(1024)) {
      sampled_call(sampler_event(1024), 0, 1024, stack.words, [&] { return block; });
    }
    hooked_free(block);
  }
}

bool is_at_the_end() {
  return sampler_rate() == kDefaultRateBytes && fine_start::g_left.load() <= 0 &&
         sampler_measures_one_in() == 0;
}

TEST(FineStart, BeginsFineAndEndsAtTheDefault) {
  in_child([] {
    start();
    EXPECT_EQ(FineLaw::kFirstRateBytes, sampler_rate());
    EXPECT_EQ(kDefaultRateBytes, fine_start::lasting_rate());
    EXPECT_NE(0u, sampler_measures_one_in());
    constexpr uint64_t kBytes = 1000 * kMiB;
    allocate(kBytes);
    EXPECT_TRUE(is_at_the_end());
    EXPECT_GT(spent_ns(), 0u);
    EXPECT_LT(profiler::counters().samples, 10000u);
    EXPECT_GT(profiler::counters().samples, 1000u);
    double counted = 0;
    for (const RatePlace& place : header().rates.uses) {
      counted += static_cast<double>(place.weight_bytes.load());
    }
    // At 512 KiB from 350 MiB on the standard deviation is 19 MiB; 5.33 of them, odds of 1e-7, and more where a slow
    // machine makes the samples before that rare.
    EXPECT_NEAR(static_cast<double>(kBytes), counted, 130.0 * kMiB) << "each sample counts at its rate";
  });
}

TEST(FineStart, WhatIsSpentHasAnEnd) {
  in_child([] {
    start();
    header().later_statistics.sampling_ns.store(FineLaw::kMaxCostNs);
    allocate(2 * kMiB);
    EXPECT_TRUE(is_at_the_end());
    // With nothing left there is no beginning either (the process has used no 4 s of CPU).
    ASSERT_EQ(Status::kOk, profiler::stop());
    ASSERT_EQ(Status::kOk, profiler::start());
    EXPECT_TRUE(is_at_the_end());
  });
}

TEST(FineStart, TheUsersRateEndsIt) {
  in_child([] {
    start();
    allocate(kMiB);
    profiler::set_rate(4096);
    EXPECT_EQ(4096u, fine_start::lasting_rate());
    EXPECT_EQ(0u, sampler_measures_one_in());
    allocate(50 * kMiB);
    EXPECT_EQ(4096u, sampler_rate());
    ASSERT_EQ(Status::kOk, profiler::stop());
    ASSERT_EQ(Status::kOk, profiler::start());
    EXPECT_EQ(4096u, sampler_rate());
    profiler::set_fine_rate();
    EXPECT_EQ(FineLaw::kFirstRateBytes, sampler_rate());
    EXPECT_EQ(kDefaultRateBytes, fine_start::lasting_rate());
  });
}

TEST(FineStart, ItBeginsAnewWithEachStart) {
  in_child([] {
    start();
    allocate(60 * kMiB);
    EXPECT_LT(FineLaw::kFirstRateBytes, sampler_rate());
    ASSERT_EQ(Status::kOk, profiler::stop());
    header().later_statistics.sampling_ns.store(1000);  // as of a machine that is fast
    ASSERT_EQ(Status::kOk, profiler::start());
    EXPECT_EQ(FineLaw::kFirstRateBytes, sampler_rate());
    EXPECT_GT(fine_start::g_left.load(), 0);
  });
}

// A process of a run that allocates little has no tables, as at the default rate.
TEST(FineStart, WhereTablesComeLateTheFirstSampleIsOfTheLastRate) {
  in_child([] {
    profiler::Sharing late;
    late.defer_tables = true;
    start(late);
    EXPECT_EQ(kDefaultRateBytes, sampler_rate());
    EXPECT_FALSE(profiler::arena());
    allocate(40 * kMiB);
    ASSERT_TRUE(profiler::arena());
    EXPECT_EQ(kDefaultRateBytes, header().rates.first_rate_bytes.load());
    EXPECT_GT(kDefaultRateBytes, sampler_rate());
  });
}

TEST(FineStart, ABudgetGoesItsOwnWay) {
  in_child([] {
    Budget budget = fine();
    budget.share_ppm = 5000;
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, kDefaultRateBytes, {}, budget));
    EXPECT_EQ(uint64_t{16} << 20, sampler_rate());
    EXPECT_FALSE(fine_start::is_wanted());
    profiler::set_fine_rate();
    EXPECT_EQ(kDefaultRateBytes, sampler_rate());
    EXPECT_FALSE(fine_start::is_wanted());
  });
}

}  // namespace
}  // namespace memprof::fine_start_test
