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
    profiler::account_new_rate(before, now, true, 1);
    const double weight = weigh(100, 8192).bytes;
    EXPECT_NEAR(weight, entry().allocated.weight_bytes.load() - entry().freed.weight_bytes.load(), 1e-6);
    EXPECT_EQ(rounded_bytes(weigh(100, 8192)), profiler::counters().live_weight_bytes);
    profiler::record_free(reinterpret_cast<void*>(kAddress));
    EXPECT_NEAR(entry().allocated.weight_bytes.load(), freed_bytes(), 1e-6);
    EXPECT_EQ(0u, profiler::counters().live_weight_bytes);
    EXPECT_EQ(0u, entry().uses.load());
  });
}

// The sums of one entry, and what its live samples stand for.
struct Held {
  double allocated = 0, freed = 0, live = 0;
  uint64_t samples = 0;
};

Held held_by(uint32_t id) {
  const StackEntry& e = profiler::g_stacks.entry(id);
  Held held{e.allocated.weight_bytes.load(), e.freed.weight_bytes.load(), 0, e.allocated.samples.load()};
  for (const std::atomic<uint32_t>& ref : e.units) {
    for (uint32_t i = 0; ref.load() != 0 && i < kUnitClasses; ++i) {
      held.freed +=
          profiler::g_arena.at<LifetimeUnit>(kLifetimeSection)[ref.load() - 1].classes[i].weight_bytes.load();
    }
  }
  for (uint64_t slot = 0; slot < profiler::g_live.slots(); ++slot) {
    LiveSample sample;
    HeapMap::Token token;
    if (profiler::g_live.read_slot(slot, &sample, &token) && stack_id_of(sample.stack_id) == id) {
      held.live += weigh(sample.size_bytes, sample.rate_bytes).bytes;
    }
  }
  return held;
}

// 't': the sample of kAddress stands for more; 'm': it becomes the other stack's; 'f': it is freed; 'x': others stand
// for it.
void change(char step) {
  if (step == 'f') {
    return profiler::record_free(reinterpret_cast<void*>(kAddress));
  }
  const HeapMap::Token token = profiler::g_live.find(kAddress);
  HeapMap::Token read;
  LiveSample sample;
  ASSERT_TRUE(profiler::g_live.read_slot(token.slot, &sample, &read));
  if (step == 'x') {
    ASSERT_TRUE(profiler::take(kAddress, token, &sample));
    profiler::account_thinned(sample, 1);
  } else if (step == 't') {
    LiveSample now = sample;
    now.rate_bytes *= 4;
    const bool is_kept = profiler::g_live.keep_first_rate(token, sample);
    ASSERT_TRUE(profiler::g_live.change_rate(token, sample.rate_bytes, now.rate_bytes));
    profiler::account_new_rate(sample, now, is_kept, 1);
  } else {
    const uint32_t from = stack_id_of(sample.stack_id);
    const uint32_t to = 1 - from;
    const uint64_t first_rate = profiler::g_live.first_rate(token, sample);
    ASSERT_TRUE(profiler::g_stacks.hold_ref(profiler::g_stacks.ref(to)));
    ASSERT_TRUE(profiler::g_live.change_stack(token, sample.stack_id, profiler::g_stacks.ref(to)));
    profiler::account_moved(sample, first_rate, to);
    profiler::g_stacks.release(from);
  }
}

// Two stacks with a sample each that stays as it is, and one whose weight and stack change, in all orders.
TEST(LiveSamples, EachStackHasTheSumsOfItsOwnWhateverChangesFirst) {
  constexpr uint64_t kSize = 100;
  for (const uint64_t rate : {uint64_t{4096}, (uint64_t{1} << 26) + 1}) {
    for (const char* steps :
         {"mf", "tmf", "mtf", "ttmf", "tmtf", "mttf", "tmmf", "mtmf", "tmtmtf", "tmx", "mtx"}) {
      SCOPED_TRACE(steps);
      in_child([&] {
        ASSERT_EQ(Status::kOk, profiler::initialize({1000, 256, 8}, 4096));
        ASSERT_EQ(Status::kOk, profiler::start());
        const FakeStack one(0x401000);
        const FakeStack other(0x402000);
        profiler::record_allocation(reinterpret_cast<void*>(kAddress + 0x1000), kSize, rate, one.entry());
        profiler::record_allocation(reinterpret_cast<void*>(kAddress + 0x2000), kSize, rate, other.entry());
        profiler::record_allocation(reinterpret_cast<void*>(kAddress), kSize, rate, one.entry());
        ASSERT_EQ(2u, held_by(0).samples);
        // A rate that a record has no room for is as if it had been the last one.
        const bool is_known = FirstRate::code(rate) != FirstRate::kNone;
        uint64_t counted = rate;
        uint32_t at = 0;
        for (const char* step = steps; *step != '\0'; ++step) {
          change(*step);
          at = *step == 'm' ? 1 - at : at;
          counted *= *step == 't' && !is_known ? 4 : 1;
          for (uint32_t id = 0; id < 2; ++id) {
            SCOPED_TRACE(step);
            const Held held = held_by(id);
            const Weight stays = weigh(kSize, rate);
            const Weight comes = weigh(kSize, counted);
            const double all = stays.bytes + (at == id ? comes.bytes : 0);
            EXPECT_EQ(at == id ? 2u : 1u, held.samples);
            EXPECT_NEAR(all, held.allocated, 1e-9 * all);
            EXPECT_NEAR(held.live, held.allocated - held.freed, 1e-9 * comes.bytes * 256);
            const auto missed = [](const Weight& w) { return (1 - w.probability) * w.bytes * w.bytes; };
            const double variance = missed(stays) + (at == id ? missed(comes) : 0);
            EXPECT_NEAR(variance, profiler::g_stacks.entry(id).variance_bytes.load(), 1e-9 * variance);
          }
        }
      });
    }
  }
}

}  // namespace
}  // namespace memprof::live_samples_test
