// SPDX-License-Identifier: Apache-2.0
// What a clock does, step by step; sampler_statistics_test.cc asks what comes of it.
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/engine/profiler.h"
#include "tests/core/sampling/sampler_fixture.h"
#include "tests/support/engine.h"

namespace memprof::sampler_test {
namespace {

using testing_support::in_child;
using testing_support::Random;
using testing_support::seed_sampler;

TEST_F(Sampler, TickSubtractsAndTellsWhenTheCountRunsOut) {
  t_sampler.count = 100;
  EXPECT_FALSE(sampler_tick(60));
  EXPECT_EQ(40u, t_sampler.count);
  EXPECT_FALSE(sampler_tick(40));  // exactly used up: the point lies after the block
  EXPECT_EQ(0u, t_sampler.count);
  EXPECT_TRUE(sampler_tick(1));
  EXPECT_EQ(UINT64_MAX, t_sampler.count);
}

TEST_F(Sampler, SizeZeroCountsAsOne) {
  t_sampler.count = 2;
  EXPECT_FALSE(sampler_tick(0));
  EXPECT_EQ(1u, t_sampler.count);
  EXPECT_FALSE(sampler_tick(0));
  EXPECT_EQ(0u, t_sampler.count);
  EXPECT_TRUE(sampler_tick(0));
  EXPECT_EQ(UINT64_MAX, t_sampler.count);
}

TEST_F(Sampler, TickIsASubtractionForAllSizesAndCounts) {
  Random random(7);
  const uint64_t edges[] = {
      0, 1, 2, 4095, 1u << 31, uint64_t{1} << 32, kMuted - 1, kMuted, UINT64_MAX - 1, UINT64_MAX};
  const auto check = [](uint64_t count, uint64_t size) {
    t_sampler.count = count;
    const uint64_t line = size == 0 ? 1 : size;
    EXPECT_EQ(count < line, sampler_tick(size)) << count << " - " << size;
    EXPECT_EQ(count - line, t_sampler.count) << count << " - " << size;
  };
  for (const uint64_t count : edges) {
    for (const uint64_t size : edges) {
      check(count, size);
    }
  }
  for (int i = 0; i < 100000; ++i) {
    check(random.next() >> random.below(64), random.next() >> random.below(64));
  }
}

TEST_F(Sampler, AZeroedThreadSeedsItselfAndComparesItsFirstDraw) {
  sampler_set_rate(1000);
  bool sampled = false;
  bool passed = false;
  for (int i = 0; i < 200 && !(sampled && passed); ++i) {
    t_sampler = {};
    ASSERT_TRUE(sampler_tick(700));
    const SamplingEvent event = sampler_event(700);
    EXPECT_NE(0u, t_sampler.seed_mark);
    EXPECT_NE(0u, t_sampler.random[0] | t_sampler.random[1]);
    EXPECT_EQ(1000u, t_sampler.rate_bytes);
    EXPECT_EQ(kEventCount, t_sampler.count);
    if (event.sampled) {
      EXPECT_EQ(1000u, event.rate_bytes);
      sampled = true;
    } else {
      passed = true;
    }
    EXPECT_LE(event.next_count, 46u * 1000);
    sampler_resume(event);
    EXPECT_EQ(event.next_count, t_sampler.count);
  }
  EXPECT_TRUE(sampled && passed);
}

TEST_F(Sampler, AnEventSamplesWithTheRateOfItsClock) {
  sampler_set_rate(1000);
  sampler_redraw();
  sampler_set_rate(64);  // by another thread: this clock was drawn at 1000
  t_sampler.count = 5;
  ASSERT_TRUE(sampler_tick(6));
  const SamplingEvent first = sampler_event(6);
  EXPECT_TRUE(first.sampled);
  EXPECT_EQ(1000u, first.rate_bytes);
  EXPECT_EQ(64u, t_sampler.rate_bytes);
  sampler_resume(first);
  t_sampler.count = 5;
  ASSERT_TRUE(sampler_tick(6));
  EXPECT_EQ(64u, sampler_event(6).rate_bytes);
}

TEST_F(Sampler, RedrawTakesUpTheRateAtOnce) {
  sampler_set_rate(1 << 20);
  sampler_redraw();
  EXPECT_EQ(1u << 20, t_sampler.rate_bytes);
  sampler_set_rate(0);
  sampler_redraw();
  EXPECT_EQ(0u, t_sampler.rate_bytes);
  EXPECT_EQ(0u, t_sampler.count);
}

TEST_F(Sampler, RatesZeroAndOneSampleEverything) {
  for (const uint64_t rate : {0u, 1u}) {
    sampler_set_rate(rate);
    sampler_redraw();
    for (const uint64_t size :
         {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{1} << 40, uint64_t{UINT64_MAX}}) {
      ASSERT_TRUE(sampler_tick(size));
      const SamplingEvent event = sampler_event(size);
      EXPECT_TRUE(event.sampled) << size;
      EXPECT_EQ(rate, event.rate_bytes);
      sampler_resume(event);
    }
  }
}

TEST_F(Sampler, TheFirstAllocationOfAThreadIsSampledAtRateZero) {
  sampler_set_rate(0);
  t_sampler = {};
  ASSERT_TRUE(sampler_tick(0));
  EXPECT_TRUE(sampler_event(0).sampled);
}

TEST_F(Sampler, MuteScopesNestAndGiveTheCountBack) {
  t_sampler.count = 123;
  const uint64_t random = t_sampler.random[0];
  {
    const MuteScope outer;
    EXPECT_FALSE(sampler_tick(1 << 30));
    {
      const MuteScope inner;
      EXPECT_FALSE(sampler_tick(1 << 30));
    }
    EXPECT_FALSE(sampler_tick(1 << 30));
    // An impossible size runs even the muted count out; it must not be sampled, nor end the scope.
    EXPECT_TRUE(sampler_tick(UINT64_MAX));
    const SamplingEvent event = sampler_event(UINT64_MAX);
    EXPECT_FALSE(event.sampled);
    sampler_resume(event);
    EXPECT_FALSE(sampler_tick(1 << 30));
    sampler_redraw();  // set_rate in a scope: the clock stays muted
    EXPECT_FALSE(sampler_tick(1 << 30));
  }
  EXPECT_EQ(123u, t_sampler.count);
  EXPECT_EQ(random, t_sampler.random[0]);
  EXPECT_EQ(0u, t_sampler.muted);
}

// memprof_backing_begin, start(0), memprof_backing_end: what comes next is recorded.
TEST_F(Sampler, AClockThatIsDrawnAnewWhileMutedHoldsAfterwards) {
  sampler_set_rate(1 << 20);
  sampler_redraw();
  sampler_mute();
  sampler_mute();
  sampler_set_rate(0);
  sampler_redraw();
  sampler_unmute();
  EXPECT_FALSE(sampler_tick(1 << 30)) << "still muted";
  sampler_unmute();
  EXPECT_EQ(0u, t_sampler.count);
  EXPECT_TRUE(sampler_tick(1));
}

TEST_F(Sampler, AChangedMarkReplacesTheGeneratorAndKeepsTheClock) {
  static std::atomic<uint64_t> mark{1000};
  sampler_set_mark(&mark);
  seed_sampler(9);
  t_sampler.thread_id = 77;
  t_sampler.count = 3;
  const uint64_t before = t_sampler.random[0];
  mark = 0;  // what a fork child reads
  ASSERT_TRUE(sampler_tick(4));
  const SamplingEvent event = sampler_event(4);
  EXPECT_TRUE(event.sampled);  // the inherited clock ran out: an event like another
  EXPECT_NE(before, t_sampler.random[0]);
  EXPECT_EQ(0u, t_sampler.thread_id);  // the child's thread has another id
  sampler_resume(event);
  const uint64_t seed_mark = t_sampler.seed_mark;
  EXPECT_NE(0u, seed_mark);
  t_sampler.count = 3;
  ASSERT_TRUE(sampler_tick(4));
  sampler_resume(sampler_event(4));
  EXPECT_EQ(seed_mark, t_sampler.seed_mark);  // once, not at every event
}

TEST_F(Sampler, SeedsComeFromTheKernelAndDiffer) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    t_sampler = {};
    sampler_redraw();
    seen.insert(t_sampler.random[0]);
  }
  EXPECT_EQ(1000u, seen.size());  // 64 bits: a repetition has odds of 3e-14
}

TEST_F(Sampler, ExponentialDistanceIsMinusRLogU) {
  Random random(11);
  for (const uint64_t rate : {2ull, 100ull, 524288ull, 1ull << 50}) {
    for (int i = 0; i < 10000; ++i) {
      const uint64_t bits = random.next() >> random.below(64);
      const long double u = (static_cast<long double>(bits) + 0.5L) * 0x1p-64L;
      const long double expected = -static_cast<long double>(rate) * std::log(u);
      const long double got = static_cast<long double>(exponential_distance(rate, bits));
      // Rounded down, but where the double of u or of the product is on the other side of an integer.
      ASSERT_NEAR(static_cast<double>(expected - 0.5L), static_cast<double>(got),
                  0.51 + static_cast<double>(expected) * 1e-15)
          << bits;
    }
  }
}

TEST_F(Sampler, ExponentialDistanceOfTheEdges) {
  for (const uint64_t random : {uint64_t{0}, uint64_t{1}, kMuted, uint64_t{UINT64_MAX}}) {
    EXPECT_EQ(0u, exponential_distance(0, random));
    EXPECT_EQ(0u, exponential_distance(1, random));
  }
  // Not clamped at either end: the largest draw is 65 ln 2 = 45.05 R.
  EXPECT_EQ(0u, exponential_distance(1000, UINT64_MAX));
  EXPECT_EQ(45054u, exponential_distance(1000, 0));
  const uint64_t max = exponential_distance(kMaxRateBytes, 0);
  EXPECT_NEAR(45.054, static_cast<double>(max) / static_cast<double>(kMaxRateBytes), 1e-3);
  EXPECT_LT(max, kMuted);  // a clock is never taken for a muted thread
}

// What `platform::watch_forks` and the mark are for: workers do not sample in lockstep with each other.
TEST_F(Sampler, Lesson20ForkedWorkersDoNotSampleInLockstep) {
  in_child([] {
    profiler::adopt_process();
    seed_sampler(5);
    int pipes[2];
    ASSERT_EQ(0, pipe(pipes));
    std::set<uint64_t> states{t_sampler.random[0]};
    for (int i = 0; i < 8; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        sampler_redraw();  // as the fork handler does
        const ssize_t written = write(pipes[1], &t_sampler.random[0], 8);
        _exit(written == 8 ? 0 : 1);
      }
      uint64_t state = 0;
      ASSERT_EQ(8, read(pipes[0], &state, 8));
      states.insert(state);
      waitpid(pid, nullptr, 0);
    }
    EXPECT_EQ(9u, states.size());
  });
}

TEST_F(Sampler, MutedAllocationsDoNotMoveTheClock) {
  t_sampler = {};
  sampler_redraw();
  t_sampler.count = 100;
  sampler_unmute();  // one too many
  EXPECT_EQ(100u, t_sampler.count);
  sampler_mute();
  EXPECT_FALSE(sampler_tick(uint64_t{1} << 40));
  sampler_mute();
  sampler_unmute();
  EXPECT_FALSE(sampler_tick(1000));
  {
    const MuteScope mute;
    EXPECT_FALSE(sampler_tick(1000));
  }
  EXPECT_NE(0u, t_sampler.muted);
  sampler_unmute();
  EXPECT_EQ(0u, t_sampler.muted);
  EXPECT_EQ(100u, t_sampler.count);
  EXPECT_FALSE(sampler_tick(100));
  EXPECT_TRUE(sampler_tick(1));
}

}  // namespace
}  // namespace memprof::sampler_test
