// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reported.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/engine/profiler.h"
#include "core/sampling/weight.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::reported_test {
namespace {

using testing_support::FakeStack;
using testing_support::hooked_allocation;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::marked_filter_slots;
using testing_support::Random;
using testing_support::scaled;
using testing_support::take;

constexpr Limits kLimits{1 << 16, 4096, 64};

const void* at(uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

void start_at(uint64_t rate_bytes) {
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, rate_bytes));
  ASSERT_EQ(Status::kOk, profiler::start());
}

// What the functions of capi/reported.cc do.
void report(uint64_t address, uint64_t size_bytes, uint32_t heap = 0, uint64_t caller = 0x401000) {
  if (sampler_tick(size_bytes)) {
    const FakeStack stack(caller);
    reported::allocated(at(address), size_bytes, heap, stack.entry());
  }
}
void report_free(uint64_t address) {
  if (g_sampled_filter.may_contain(at(address))) {
    reported::freed(at(address));
  }
}
void report_realloc(uint64_t token, uint64_t old_address, uint64_t address, uint64_t size_bytes) {
  const bool ran_out = sampler_tick(size_bytes);
  const FakeStack stack(0x401000);
  reported::reallocated(token, at(old_address), at(address), size_bytes, 0, ran_out, stack.entry());
}

uint64_t live() {
  return profiler::counters().live_samples;
}

TEST(Reported, BlockAndChunkAtOneAddressAreTwo) {
  in_child([] {
    start_at(0);
    const FakeStack stack(0x402000);
    hooked_allocation(at(0x10000), 4096, stack.entry());
    report(0x10000, 16);
    EXPECT_EQ(2u, live());
    const auto s = take(profiler::arena());
    ASSERT_EQ(2u, s->records.size);
    EXPECT_EQ(0x10000u, s->records.data[0].address);
    EXPECT_EQ(0x10000u, s->records.data[1].address);
    report_free(0x10000);
    EXPECT_EQ(1u, live());
    report_free(0x10000);
    EXPECT_EQ(1u, live());
    reported::backing(at(0x10000));
    EXPECT_EQ(0u, live());
    EXPECT_EQ(0u, profiler::counters().replaced_samples);
    EXPECT_EQ(0u, marked_filter_slots());
  });
}

TEST(Reported, HeapsOfOneStackAreStacksOfTheirOwn) {
  in_child([] {
    EXPECT_EQ(1u, profiler::register_heap("a", 1));  // before there is an arena
    start_at(0);
    EXPECT_EQ(2u, profiler::register_heap("b", 1));
    for (uint64_t i = 0; i < 9; ++i) {
      report(0x10000 + 16 * i, 10 + i % 3, i % 3);
    }
    report(0x20000, 1, 3);  // unknown
    const auto s = take(profiler::arena());
    ASSERT_EQ(3u, s->stacks.size);
    ASSERT_EQ(3u, s->stack_heaps.size);
    ASSERT_EQ(3u, s->heaps.size);
    EXPECT_STREQ("a", s->strings.data + s->heaps.data[1].name_offset);
    EXPECT_STREQ("b", s->strings.data + s->heaps.data[2].name_offset);
    for (uint64_t i = 0; i < 3; ++i) {
      const uint32_t heap = s->stack_heaps.data[i];
      EXPECT_EQ(heap == 0 ? 3 * 10 + 1 : 3 * (10 + heap), s->stacks.data[i].allocated.size_bytes);
    }
  });
}

TEST(Reported, NullIsAnEventWithoutASample) {
  in_child([] {
    start_at(0);
    report(0, 100);
    EXPECT_EQ(0u, profiler::counters().samples);
    EXPECT_EQ(1u, profiler::counters().cold_paths);
    report_free(0);
    reported::backing(nullptr);
  });
}

TEST(Reported, ReallocationTakesWhatItsTokenNames) {
  in_child([] {
    start_at(0);
    EXPECT_EQ(0u, reported::begin_reallocation(nullptr));
    EXPECT_EQ(0u, reported::begin_reallocation(at(0x10000)));
    report(0x10000, 10);
    uint64_t token = reported::begin_reallocation(at(0x10000));
    ASSERT_NE(0u, token);
    report_realloc(token, 0x10000, 0, 20);  // failed
    EXPECT_EQ(1u, live());
    report_realloc(token, 0x10000, 0x20000, 20);
    EXPECT_EQ(1u, live());
    token = reported::begin_reallocation(at(0x20000));
    report_free(0x20000);
    report(0x20000, 30);  // by another thread
    report_realloc(token, 0x20000, 0x30000, 40);
    EXPECT_EQ(2u, live());
    report_realloc(reported::begin_reallocation(at(0x20000)), 0x20000, 0, 0);
    EXPECT_EQ(1u, live());
  });
}

TEST(Reported, RangeFreesWhatBeginsInIt) {
  in_child([] {
    start_at(0);
    const uint64_t base = (uint64_t{5} << 32) - 5000;  // over the edge of what the filter tells apart
    for (uint64_t i = 0; i < 1000; ++i) {
      report(base + 10 * i, 10);
    }
    reported::freed_range(at(base), 0);
    EXPECT_EQ(1000u, live());
    reported::freed_range(at(base + 1), 9);
    EXPECT_EQ(1000u, live());
    reported::freed_range(at(base + 1), 10);
    EXPECT_EQ(999u, live());
    reported::freed_range(at(base + 9000), uint64_t{1} << 40);
    EXPECT_EQ(899u, live());
    reported::freed_range(at(base), UINT64_MAX);
    EXPECT_EQ(0u, live());
    EXPECT_EQ(0u, marked_filter_slots());
    EXPECT_EQ(1000u, profiler::counters().freed_samples);
  });
}

// Few samples in much memory: the filter is asked.  Many in little: the map.  Both find the same.
TEST(Reported, RangesAgreeWithAModel) {
  in_child([] {
    start_at(0);
    Random random(7);
    constexpr uint64_t kBase = 0x7f0000000000;
    constexpr uint64_t kBytes = 1 << 18;
    for (uint64_t round = 0; round < scaled(200); ++round) {
      std::vector<bool> is_live(kBytes);
      const uint64_t blocks = round % 2 == 0 ? 5 : 3000;
      for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t place = random.below(kBytes);
        if (!is_live[place]) {
          report(kBase + place, 1);
        }
        is_live[place] = true;
      }
      const uint64_t first = random.below(kBytes);
      const uint64_t size = random.below(kBytes - first);
      reported::freed_range(at(kBase + first), size);
      uint64_t expected = 0;
      for (uint64_t i = 0; i < kBytes; ++i) {
        expected += is_live[i] && (i < first || i >= first + size);
      }
      ASSERT_EQ(expected, live()) << round;
      reported::freed_range(at(kBase), kBytes);
      ASSERT_EQ(0u, live());
    }
  });
}

TEST(Reported, ChildOfForkRecordsNothing) {
  in_child([] {
    start_at(0);
    report(0x10000, 10);
    const uint64_t samples = profiler::counters().samples;
    in_child([] {
      report(0x20000, 10);
      report_free(0x10000);
      reported::freed_range(at(0), UINT64_MAX);
      EXPECT_NE(0u, profiler::register_heap("child", 5));
    });
    EXPECT_EQ(samples, profiler::counters().samples);
    EXPECT_EQ(1u, live());
  });
}

// Malloc's blocks, reported blocks and muted chunks in turn, on one clock.  Lesson 19: what is muted does not
// push its sample to its neighbour.  The estimate of N blocks has the standard deviation s sqrt(N (1-p) / p);
// the bound is 6 of them, odds of 2e-9 a comparison.  A chunk that advanced the clock would give its points
// to the block after it, and raise that one's estimate by (chunk / block), many times the bound.
TEST(Reported, SharesTheClockAndMutedChunksDoNotMoveIt) {
  in_child([] {
    constexpr uint64_t kRate = 4096;
    constexpr uint64_t kBlocks = kSanitized ? 100000 : 1000000;
    constexpr uint64_t kSizes[] = {40, 300, 24};
    start_at(kRate);
    const FakeStack hook(0x403000);
    for (uint64_t i = 0; i < kBlocks; ++i) {
      hooked_allocation(at(0x100000), kSizes[0], hook.entry());
      hooked_free(at(0x100000));
      if (i % 4 == 0) {
        sampler_mute();
        sampler_mute();
        hooked_allocation(at(0x200000), 65536, hook.entry());
        sampler_unmute();
        hooked_allocation(at(0x210000), 65536, hook.entry());
        sampler_unmute();
      }
      report(0x100000, kSizes[1], 0, 0x401000);
      report_free(0x100000);
      report(0x300000, kSizes[2], 0, 0x402000);
      report_free(0x300000);
    }
    EXPECT_EQ(0u, live());
    const auto s = take(profiler::arena());
    ASSERT_EQ(3u, s->stacks.size);
    for (uint64_t i = 0; i < 3; ++i) {
      const SnapshotStack& stack = s->stacks.data[i];
      const uint64_t caller = s->frames.data[stack.first_frame];
      const uint64_t size = kSizes[caller == 0x403000 ? 0 : caller == 0x401000 ? 1 : 2];
      const double p = weigh(size, kRate).probability;
      const double sigma = static_cast<double>(size) * std::sqrt(kBlocks * (1 - p) / p);
      EXPECT_NEAR(static_cast<double>(size * kBlocks), stack.allocated.weight_bytes, 6 * sigma) << size;
    }
  });
}

}  // namespace
}  // namespace memprof::reported_test
