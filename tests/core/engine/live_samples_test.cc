// SPDX-License-Identifier: Apache-2.0
#include "core/engine/live_samples.h"

#include <gtest/gtest.h>

#include "core/engine/ownership.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::live_samples_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;

constexpr uint64_t kAddress = 0x10000;

void record() {
  const FakeStack stack(0x401000);
  profiler::record_allocation(reinterpret_cast<void*>(kAddress), 100, 4096, stack.entry());
}

const StackEntry& entry() {
  return profiler::g_stacks.entry(0);
}

// After any time, and what is in no class.
double freed_bytes() {
  double sum = entry().freed.weight_bytes.load();
  for (const std::atomic<uint32_t>& ref : entry().units) {
    for (uint32_t i = 0; ref.load() != 0 && i < kUnitClasses; ++i) {
      sum +=
          profiler::g_arena.at<LifetimeUnit>(kLifetimeSection)[ref.load() - 1].classes[i].weight_bytes.load();
    }
  }
  return sum;
}

TEST(LiveSamples, OneThatIsThinnedIsInNoSumOfTheLive) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize({1000, 256, 8}, 4096));
    ASSERT_EQ(Status::kOk, profiler::start());
    record();
    EXPECT_EQ(1u, entry().uses.load());
    LiveSample taken;
    ASSERT_TRUE(profiler::take(kAddress, profiler::g_live.find(kAddress), &taken));
    EXPECT_FALSE(profiler::take(kAddress, profiler::g_live.find(kAddress), &taken));
    profiler::account_thinned(taken, 1);
    EXPECT_EQ(0u, entry().uses.load());
    EXPECT_EQ(1u, entry().freed.samples.load());
    EXPECT_EQ(entry().allocated.weight_bytes.load(), entry().freed.weight_bytes.load());
    EXPECT_EQ(0u, entry().units[0].load());  // it lives, unseen
    EXPECT_EQ(0u, profiler::counters().live_weight_bytes);
  });
}

TEST(LiveSamples, ANewRateIsANewWeightInAllSums) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize({1000, 256, 8}, 4096));
    ASSERT_EQ(Status::kOk, profiler::start());
    record();
    LiveSample before;
    HeapMap::Token token;
    uint64_t slot = 0;
    while (!profiler::g_live.read_slot(slot, &before, &token)) {
      ++slot;
    }
    EXPECT_FALSE(profiler::g_live.change_rate(token, 8192, 16384));
    ASSERT_TRUE(profiler::g_live.change_rate(token, 4096, 8192));
    LiveSample now = before;
    now.rate_bytes = 8192;
    profiler::account_new_rate(before, now, 1);
    const double weight = weigh(100, 8192).bytes;
    EXPECT_NEAR(weight, entry().allocated.weight_bytes.load() - entry().freed.weight_bytes.load(), 1e-6);
    EXPECT_EQ(rounded_bytes(weigh(100, 8192)), profiler::counters().live_weight_bytes);
    profiler::record_free(reinterpret_cast<void*>(kAddress));
    EXPECT_NEAR(entry().allocated.weight_bytes.load(), freed_bytes(), 1e-6);
    EXPECT_EQ(0u, profiler::counters().live_weight_bytes);
    EXPECT_EQ(0u, entry().uses.load());
  });
}

}  // namespace
}  // namespace memprof::live_samples_test
