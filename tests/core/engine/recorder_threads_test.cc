// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <vector>

#include "core/engine/profiler.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"
#include "tests/support/recorded.h"

namespace memprof::recorder_test {
namespace {

using namespace testing_support::recorded;
using testing_support::counters_of;
using testing_support::FakeStack;
using testing_support::hooked_free;
using testing_support::hooked_malloc;
using testing_support::hooked_real_free;
using testing_support::in_child;
using testing_support::marked_filter_slots;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;

// ---- Stress

void expect_nothing_lives() {
  const Counters c = profiler::counters();
  EXPECT_EQ(0u, c.live_samples);
  EXPECT_EQ(c.samples, c.freed_samples + c.dropped_stack_table + c.dropped_live_table);
  EXPECT_EQ(0u, c.replaced_samples);
  const auto s = take_own();
  EXPECT_EQ(0u, s->records.size);
  EXPECT_EQ(0.0, s->live_weight_bytes);
  EXPECT_EQ(0.0, s->live_weight_count);
  if (c.filter_saturated == 0) {
    EXPECT_EQ(0u, marked_filter_slots());
  }
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    const SnapshotStack& stack = s->stacks.data[i];
    EXPECT_EQ(stack.allocated.samples, stack.freed.samples);
    EXPECT_EQ(stack.allocated.size_bytes, stack.freed.size_bytes);
    // The same terms, summed in another order.
    EXPECT_NEAR(stack.allocated.weight_bytes, stack.freed.weight_bytes, 1e-9 * stack.allocated.weight_bytes);
    EXPECT_NEAR(stack.allocated.weight_count, stack.freed.weight_count, 1e-9 * stack.allocated.weight_count);
  }
}

// Live = allocated - freed at every stack, exactly in numbers and sizes.
void expect_live_is_allocated_minus_freed() {
  const auto s = take_own();
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> live;
  std::map<uint32_t, double> weight;
  for (uint64_t i = 0; i < s->records.size; ++i) {
    const SnapshotRecord& r = s->records.data[i];
    ++live[r.stack_id].first;
    live[r.stack_id].second += r.size_bytes;
    weight[r.stack_id] += r.weight_bytes;
  }
  uint64_t samples = 0;
  for (uint32_t i = 0; i < s->stacks.size; ++i) {
    const SnapshotStack& stack = s->stacks.data[i];
    ASSERT_EQ(stack.allocated.samples - stack.freed.samples, live[i].first);
    ASSERT_EQ(stack.allocated.size_bytes - stack.freed.size_bytes, live[i].second);
    ASSERT_NEAR(stack.allocated.weight_bytes - stack.freed.weight_bytes, weight[i],
                1e-9 * stack.allocated.weight_bytes);
    samples += live[i].first;
  }
  EXPECT_EQ(profiler::counters().live_samples, samples);
}

TEST(Recorder, Lesson11StartAndStopTenThousandTimesUnderLoad) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 256));
    std::atomic<bool> done{false};
    run_threads(10, [&](int thread) {
      if (thread == 0) {
        // Under a sanitizer the whole number only where it is asked for (./dev endure).
        const bool is_short = testing_support::kSanitized && getenv("MEMPROF_TEST_WHOLE") == nullptr;
        const uint64_t times = is_short ? 2000 : 10000;
        // And on until there was load.
        for (uint64_t i = 0; i < times || profiler::counters().samples < 1000; ++i) {
          ASSERT_EQ(Status::kOk, profiler::start());
          profiler::set_rate(i % 10 == 0 ? 0 : 256u << (i % 8));
          if (i % 16 == 0) {
            std::this_thread::yield();
          }
          ASSERT_EQ(Status::kOk, profiler::stop());
        }
        done = true;
        return;
      }
      if (thread == 1) {
        while (!done) {
          const auto s = take_own();
          for (uint64_t i = 0; i < s->records.size; ++i) {
            ASSERT_LT(s->records.data[i].stack_id, s->stacks.size);
          }
          counters_of(profiler::arena());
        }
        return;
      }
      Random random(static_cast<uint64_t>(thread));
      std::vector<void*> blocks(200, nullptr);
      while (!done) {
        void*& block = blocks[random.below(blocks.size())];
        if (block != nullptr) {
          hooked_real_free(block);
          block = nullptr;
        } else {
          block = hooked_malloc(1 + random.below(2000), 0x401000 + random.below(300) * 16);
        }
      }
      for (void* block : blocks) {
        if (block != nullptr) {
          hooked_real_free(block);
        }
      }
    });
    EXPECT_GE(profiler::counters().samples, 1000u);
    expect_nothing_lives();
  });
}

TEST(Recorder, Lesson22AfterEverythingIsFreedTheLiveEstimateIsZero) {
  in_child([] {
    start_at(512);
    std::atomic<uint64_t> allocations{0};
    std::atomic<int> running{8};
    run_threads(9, [&](int thread) {
      if (thread == 8) {
        while (running != 0) {
          take_own();
        }
        return;
      }
      Random random(static_cast<uint64_t>(thread));
      std::vector<void*> blocks(500, nullptr);
      for (uint64_t i = 0; i < scaled(1000000); ++i) {
        void*& block = blocks[random.below(blocks.size())];
        if (block != nullptr) {
          hooked_real_free(block);
          block = nullptr;
        } else {
          block = hooked_malloc(random.below(1000), 0x401000 + random.below(100) * 16);
          ++allocations;
        }
      }
      for (void* block : blocks) {
        if (block != nullptr) {
          hooked_real_free(block);
        }
      }
      --running;
    });
    EXPECT_GT(profiler::counters().samples, allocations / 4);
    expect_nothing_lives();
  });
}

// Blocks are freed by other threads than those that allocated them.
TEST(Recorder, Lesson22AlsoWhenOtherThreadsFree) {
  in_child([] {
    start_at(128);
    constexpr int kSlots = 256;
    std::atomic<void*> exchange[kSlots] = {};
    run_threads(8, [&](int thread) {
      Random random(static_cast<uint64_t>(thread));
      for (uint64_t i = 0; i < scaled(400000); ++i) {
        void* mine = hooked_malloc(1 + random.below(300), 0x401000 + random.below(100) * 16);
        void* theirs = exchange[random.below(kSlots)].exchange(mine, std::memory_order_acq_rel);
        if (theirs != nullptr) {
          hooked_real_free(theirs);
        }
      }
    });
    expect_live_is_allocated_minus_freed();
    for (auto& slot : exchange) {
      if (slot.load() != nullptr) {
        hooked_real_free(slot.load());
      }
    }
    expect_nothing_lives();
  });
}

TEST(Recorder, Lesson23LiveIsAllocatedMinusFreedForEachStack) {
  in_child([] {
    start_at(1000);
    // Ten million pairs through the profiler; the addresses are not really allocated.
    constexpr uint64_t kThreads = 4;
    constexpr uint64_t kHeld = 2000;
    const uint64_t each = scaled(10000000) / kThreads;
    std::vector<std::vector<uint64_t>> held(kThreads, std::vector<uint64_t>(kHeld, 0));
    const auto address_of = [](uint64_t thread, uint64_t which) {
      return 0x10000000 + (thread * kHeld + which) * 64;
    };
    for (int round = 0; round < 2; ++round) {
      run_threads(kThreads, [&](int thread) {
        t_sampler = {};
        Random random(static_cast<uint64_t>(round * 10 + thread));
        for (uint64_t i = 0; i < each; ++i) {
          const uint64_t which = random.below(kHeld);
          const void* block = block_at(address_of(thread, which));
          uint64_t& size = held[thread][which];
          if (size != 0) {
            hooked_free(block);
            size = 0;
          } else {
            size = 1 + random.below(2000);
            const FakeStack stack(0x401000 + (which % 50) * 16);
            testing_support::hooked_allocation(block, size, stack.entry());
          }
        }
      });
      expect_live_is_allocated_minus_freed();
    }
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      for (uint64_t which = 0; which < kHeld; ++which) {
        if (held[thread][which] != 0) {
          hooked_free(block_at(address_of(thread, which)));
        }
      }
    }
    expect_nothing_lives();
    EXPECT_EQ(0u, profiler::arena().header().live_count.load());
    // Nothing that a lookup would have to pass was left behind: 4000 samples at most lived at once.
    EXPECT_LE(profiler::arena().header().live_levels.open.load(), levels_for(2 * kThreads * kHeld));
  });
}

}  // namespace
}  // namespace memprof::recorder_test
