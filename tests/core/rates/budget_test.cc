// SPDX-License-Identifier: Apache-2.0
// What events cost is counted, and the rate follows.  Each test is a process of its own.
#include "core/rates/budget.h"

#include <gtest/gtest.h>

#include "core/engine/profiler.h"
#include "core/hooks/sampled_call.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::budget_test {
namespace {

using testing_support::FakeStack;
using testing_support::hooked_allocation;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::run_threads;
using testing_support::take;

constexpr Limits kLimits{4096, 1024, 64};
constexpr Budget kBudget{5000};

void start(const Budget& budget, uint64_t rate_bytes = kDefaultRateBytes) {
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, rate_bytes, {}, budget));
  ASSERT_EQ(Status::kOk, profiler::start());
}

const LaterStatistics& statistics() {
  return profiler::arena().header().later_statistics;
}

void* address_of(uint64_t i) {
  return reinterpret_cast<void*>(0x10000000 + i % 1000 * 16384);
}

// Blocks that live shortly, by what a hook does: the event, and the real call inside it.
void allocate(uint64_t count, uint64_t size_bytes, uint64_t real_call_ns = 0) {
  const FakeStack stack(0x401000);
  for (uint64_t i = 0; i < count; ++i) {
    if (sampler_tick(size_bytes)) {
      sampled_call(sampler_event(size_bytes), 0, size_bytes, stack.words, [&] {
        for (const uint64_t end = platform::monotonic_ns() + real_call_ns; platform::monotonic_ns() < end;) {
        }
        return address_of(i);
      });
    }
    hooked_free(address_of(i));
  }
}

TEST(RateBudget, WithoutOneNothingIsMeasured) {
  in_child([] {
    start(Budget{}, 4096);
    allocate(10000, 1024);
    EXPECT_FALSE(budget::is_on());
    EXPECT_EQ(0u, statistics().sampling_ns.load());
    EXPECT_EQ(0u, statistics().cpu_ns.load());
    EXPECT_EQ(UINT64_MAX, budget::g_due_ns.load());
    EXPECT_EQ(4096u, sampler_rate());
    EXPECT_EQ(0u, t_sampler.rest);
    EXPECT_EQ(0u, profiler::arena().header().rates.is_counted.load());
  });
}

TEST(RateBudget, TheFirstRateIsTheGridsWithinTheBounds) {
  in_child([] {
    start(kBudget, 400000);
    EXPECT_EQ(393216u, sampler_rate());
    EXPECT_EQ(5000u, statistics().budget_ppm.load());
  });
  in_child([] {
    start(kBudget, 0);
    EXPECT_EQ(Budget::kDefaultMinRate, sampler_rate());
  });
  in_child([] {
    start(kBudget);
    EXPECT_EQ(uint64_t{16} << 20, sampler_rate());
  });
}

// The sum is of one event in eight, and the real call is not in it: with a real call of 20 us an event costs what
// it does without.
TEST(RateBudget, WhatEventsCostIsCountedWithoutTheRealCall) {
  in_child([] {
    Budget fixed = kBudget;
    fixed.min_rate_bytes = fixed.max_rate_bytes = 4096;
    start(fixed);
    constexpr uint64_t kEvents = 4000;
    constexpr uint64_t kCallNs = 20000;
    const uint64_t before = platform::monotonic_ns();
    allocate(kEvents, 1 << 20, kCallNs);
    const uint64_t wall_ns = platform::monotonic_ns() - before;
    EXPECT_GE(profiler::counters().samples, kEvents - 2);
    EXPECT_GT(statistics().sampling_ns.load(), kEvents * 20);
    // Each event and free is clipped, so a machine under load has at most this, and mostly a hundredth of it.
    EXPECT_LT(statistics().sampling_ns.load(), wall_ns);
    EXPECT_EQ(4096u, sampler_rate());
  });
}

// Of a few events each is measured, of many one in eight, and of few each again.
TEST(RateBudget, EachEventIsMeasuredWhileThereAreFew) {
  in_child([] {
    Budget fixed = kBudget;
    fixed.min_rate_bytes = fixed.max_rate_bytes = 4096;
    start(fixed);
    for (uint64_t i = 0; i < 20; ++i) {
      const uint64_t before = statistics().sampling_ns.load();
      allocate(1, 1 << 20);
      EXPECT_GT(statistics().sampling_ns.load(), before) << i;
    }
    EXPECT_EQ(1u, sampler_measures_one_in());
    const uint64_t end = platform::monotonic_ns() + 10000000000;
    while (sampler_measures_one_in() == 1 && platform::monotonic_ns() < end) {
      allocate(100, 1 << 20);
    }
    EXPECT_EQ(kMeasuredEvents, sampler_measures_one_in());
    while (sampler_measures_one_in() != 1 && platform::monotonic_ns() < end) {
      allocate(1, 1 << 20);
      for (const uint64_t pause = platform::monotonic_ns() + 10000000; platform::monotonic_ns() < pause;) {
      }
    }
    EXPECT_EQ(1u, sampler_measures_one_in());
  });
}

// A program that does nothing but allocate: the rate rises, up to its bound, and says so to readers.
TEST(RateBudget, TheRateRisesInAStorm) {
  in_child([] {
    Budget small{1};  // a millionth
    start(small, 16384);
    const uint64_t end = platform::monotonic_ns() + 10000000000;
    while (sampler_rate() != Budget::kDefaultMaxRate && platform::monotonic_ns() < end) {
      allocate(10000, 512);
    }
    EXPECT_EQ(Budget::kDefaultMaxRate, sampler_rate());
    EXPECT_EQ(Budget::kDefaultMaxRate, profiler::counters().rate_bytes);
    EXPECT_GT(statistics().cpu_ns.load(), 0u);
    const auto s = take(profiler::arena());
    ASSERT_GT(s->rates.size, 1u);
    EXPECT_EQ(16384u, s->rates.data[0].rate_bytes);
    EXPECT_EQ(Budget::kDefaultMaxRate, s->rates.data[s->rates.size - 1].rate_bytes);
    double bytes = 0;
    double allocated = 0;
    double rounding = 0;  // of each sample, which may be few where the rate rises at once
    for (uint64_t i = 0; i < s->rates.size; ++i) {
      bytes += static_cast<double>(s->rates.data[i].weight_bytes);
    }
    for (uint64_t i = 0; i < s->stacks.size; ++i) {
      allocated += s->stacks.data[i].allocated.weight_bytes;
      rounding += 0.5 * static_cast<double>(s->stacks.data[i].allocated.samples);
    }
    EXPECT_NEAR(allocated, bytes, 1e-6 * allocated + rounding);
  });
}

// One that hardly allocates for all its CPU time comes down to the finest rate, though no sample falls.
TEST(RateBudget, TheRateFallsWhereLittleIsAllocated) {
  in_child([] {
    start(Budget{500000}, 64 << 20);
    const uint64_t end = platform::monotonic_ns() + 10000000000;
    while (sampler_rate() != Budget::kDefaultMinRate && platform::monotonic_ns() < end) {
      allocate(1, 1 << 20);
      for (const uint64_t pause = platform::monotonic_ns() + 1000000; platform::monotonic_ns() < pause;) {
      }
    }
    EXPECT_EQ(Budget::kDefaultMinRate, sampler_rate());
  });
}

TEST(RateBudget, ThreadsShareOne) {
  in_child([] {
    start(kBudget, 16384);
    run_threads(4, [](uint64_t) { allocate(200000, 256); });
    EXPECT_GE(sampler_rate(), Budget::kDefaultMinRate);
    EXPECT_GT(statistics().sampling_ns.load(), 0u);
    EXPECT_EQ(profiler::counters().samples, profiler::counters().freed_samples);
  });
}

// A clock that stands still tells nothing: the rate stays.
TEST(RateBudget, WithoutAClockTheRateStays) {
  in_child([] {
    start(kBudget, 65536);
    platform::stop_clock(true);
    allocate(100000, 4096);
    EXPECT_EQ(65536u, sampler_rate());
    EXPECT_EQ(0u, statistics().sampling_ns.load());
  });
}

// A child that is not followed writes nothing to its parent's tables.
TEST(RateBudget, AForkChildCountsNothingForItsParent) {
  in_child([] {
    start(kBudget, 16384);
    allocate(10000, 4096);
    const LaterStatistics& parents = statistics();
    const uint64_t before = parents.sampling_ns.load();
    in_child([&] {
      allocate(10000, 4096);
      EXPECT_EQ(before, parents.sampling_ns.load());
    });
  });
}

}  // namespace
}  // namespace memprof::budget_test
