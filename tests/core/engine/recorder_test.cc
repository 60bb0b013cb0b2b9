// SPDX-License-Identifier: Apache-2.0
// The profiler is one a process and goes one way: each test runs in a child of its own.
#include "core/engine/recorder.h"

#include <gtest/gtest.h>

#include <cmath>

#include <atomic>
#include <cstdlib>
#include <map>
#include <vector>

#include "core/engine/profiler.h"
#include "core/sampling/weight.h"
#include "platform/clock.h"
#include "platform/process.h"
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

// ---- Records

TEST(Recorder, ARecordKeepsWhatIsKnownOfItsSample) {
  in_child([] {
    start_at(4096);
    const uint64_t before = platform::monotonic_ns();
    record(0x7f0012345670, 12345, 777, 0x402000);
    const auto s = take_own();
    ASSERT_EQ(1u, s->records.size);
    const SnapshotRecord& r = s->records.data[0];
    EXPECT_EQ(0x7f0012345670u, r.address);
    EXPECT_EQ(12345u, r.size_bytes);
    EXPECT_EQ(777u, r.rate_bytes);
    EXPECT_EQ(platform::thread_id(), r.thread_id);
    EXPECT_GE(r.time_ns, before);
    EXPECT_LE(r.time_ns, platform::monotonic_ns());
    ASSERT_EQ(1u, s->stacks.size);
    ASSERT_EQ(1u, s->stacks.data[0].frame_count);
    EXPECT_EQ(0x402000u, s->frames.data[0]);
    const Counters c = profiler::counters();
    EXPECT_EQ(1u, c.samples);
    EXPECT_EQ(1u, c.live_samples);
    EXPECT_EQ(1u, c.frames);
    EXPECT_EQ(1u, c.min_depth);
    EXPECT_EQ(1u, c.stacks);
  });
}

TEST(Recorder, AFreeMovesASampleFromLiveToFreed) {
  in_child([] {
    start_at(4096);
    record(0x10000, 64, 4096);
    const double weight = weigh(64, 4096).bytes;
    hooked_free(block_at(0x10010));  // a neighbour: the filter says maybe, the map says no
    EXPECT_EQ(1u, profiler::counters().live_samples);
    hooked_free(block_at(0x10000));
    hooked_free(block_at(0x10000));  // a double free in the program is counted once
    const Counters c = profiler::counters();
    EXPECT_EQ(0u, c.live_samples);
    EXPECT_EQ(1u, c.freed_samples);
    const auto s = take_own();
    EXPECT_EQ(0u, s->records.size);
    EXPECT_EQ(1u, s->stacks.data[0].freed.samples);
    EXPECT_EQ(weight, s->stacks.data[0].freed.weight_bytes);
    EXPECT_EQ(weight, s->stacks.data[0].allocated.weight_bytes);
    EXPECT_EQ(0u, marked_filter_slots());
  });
}

TEST(Recorder, ThePeakIsTheMostThatWasLive) {
  in_child([] {
    start_at(0);
    profiler::reset_peak();
    record(0x10000, 3000, 0);
    record(0x20000, 2000, 0);
    profiler::record_free(block_at(0x10000));
    record(0x30000, 500, 0);
    EXPECT_EQ(2500u, profiler::counters().live_weight_bytes);
    EXPECT_EQ(5000u, profiler::counters().peak_weight_bytes);
    profiler::reset_peak();
    EXPECT_EQ(2500u, profiler::counters().peak_weight_bytes);
    record(0x10000, 1000, 0);
    profiler::record_free(block_at(0x10000));
    EXPECT_EQ(3500u, profiler::counters().peak_weight_bytes);
    // Weights that are not whole: what comes goes again to the last byte, also of a block whose free was
    // missed.
    for (uint64_t i = 0; i < 1000; ++i) record(0x100000 + i * 16, 7 * i + 1, 4096);
    for (uint64_t i = 0; i < 1000; ++i) record(0x100000 + i * 16, 3 * i + 1, 8192);
    for (uint64_t i = 0; i < 1000; ++i) profiler::record_free(block_at(0x100000 + i * 16));
    EXPECT_EQ(2500u, profiler::counters().live_weight_bytes);
  });
}

TEST(Recorder, AnAddressThatIsGivenOutAnewReplacesItsRecord) {
  in_child([] {
    start_at(4096);
    record(0x10000, 64, 4096, 0x401000);
    record(0x10000, 128, 4096, 0x402000);  // the free went past us
    const Counters c = profiler::counters();
    EXPECT_EQ(2u, c.samples);
    EXPECT_EQ(1u, c.live_samples);
    EXPECT_EQ(1u, c.replaced_samples);
    const auto s = take_own();
    ASSERT_EQ(1u, s->records.size);
    EXPECT_EQ(128u, s->records.data[0].size_bytes);
    EXPECT_EQ(1u, s->stacks.data[0].freed.samples);  // it counts as freed at its own stack
    hooked_free(block_at(0x10000));
    EXPECT_EQ(0u, profiler::counters().live_samples);
    EXPECT_EQ(0u, marked_filter_slots());
  });
}

TEST(Recorder, AFailedReallocLeavesTheRecordAsItWas) {
  in_child([] {
    start_at(4096);
    for (uint64_t i = 0; i < 1000; ++i) {
      record(0x10000 + i * 16);
    }
    for (uint64_t i = 0; i < 1000; ++i) {
      EXPECT_TRUE(profiler::begin_realloc(block_at(0x10000 + i * 16)));
    }
    EXPECT_EQ(1000u, profiler::counters().live_samples);
    EXPECT_EQ(1000u, take_own()->records.size);
    EXPECT_EQ(0u, profiler::counters().freed_samples);
  });
}

TEST(Recorder, AReallocTakesOutItsOwnRecordOnly) {
  in_child([] {
    start_at(4096);
    record(0x10000);
    const HeapMap::Token moved = profiler::begin_realloc(block_at(0x10000));
    profiler::commit_realloc(block_at(0x10000), moved);
    EXPECT_EQ(1u, profiler::counters().freed_samples);
    // The old block was freed inside the real realloc, and another thread got and recorded its address before
    // we commit.
    record(0x20000, 64);
    const HeapMap::Token stale = profiler::begin_realloc(block_at(0x20000));
    record(0x20000, 128);
    profiler::commit_realloc(block_at(0x20000), stale);
    EXPECT_EQ(1u, profiler::counters().live_samples);
    const auto s = take_own();
    ASSERT_EQ(1u, s->records.size);
    EXPECT_EQ(128u, s->records.data[0].size_bytes);
    // And a block that was never sampled.
    const HeapMap::Token none = profiler::begin_realloc(block_at(0x30000));
    EXPECT_FALSE(none);
    profiler::commit_realloc(block_at(0x30000), none);
    EXPECT_EQ(1u, profiler::counters().live_samples);
  });
}

// ---- Limits

// tests/core/engine/thinning_test.cc says what of.
TEST(Recorder, AFullLiveTableLosesNoSample) {
  in_child([] {
    start_at(4096, {100, 256, 8});
    for (uint64_t i = 0; i < 130; ++i) {
      record(0x10000 + i * 16, 1000, 4096);
    }
    const Counters c = profiler::counters();
    EXPECT_EQ(130u, c.samples);
    EXPECT_GT(c.thinned_samples, 0u);
    EXPECT_EQ(130u, c.live_samples + c.thinned_samples);
    EXPECT_EQ(0u, c.freed_samples);
    EXPECT_EQ(0u, c.dropped_live_table);
    const auto s = take_own();
    EXPECT_EQ(c.live_samples, s->records.size);
    EXPECT_EQ(130u, s->stacks.data[0].allocated.samples);
    for (uint64_t i = 0; i < 130; ++i) {
      hooked_free(block_at(0x10000 + i * 16));
    }
    EXPECT_EQ(0u, profiler::counters().live_samples);
    EXPECT_EQ(c.live_samples, profiler::counters().freed_samples);
    record(0x10000);  // there is room again
    EXPECT_EQ(1u, profiler::counters().live_samples);
  });
}

// As fast as threads can: a sample that still finds no room is counted.
TEST(Recorder, WhatTheLiveTableRefusesIsCountedAndStillAllocated) {
  in_child([] {
    start_at(4096, {1, 256, 8});
    record(0x10000, 1000, 4096);
    ThinState& thinning = profiler::arena().header().thin;
    thinning.rate_bytes.store(0, std::memory_order_relaxed);  // under way, and nothing goes
    thinning.hand.store(0, std::memory_order_relaxed);
    thinning.end.store(kFirstLevelSlots, std::memory_order_relaxed);
    record(0x20000, 1000, 4096);
    const Counters c = profiler::counters();
    EXPECT_EQ(2u, c.samples);
    EXPECT_EQ(1u, c.live_samples);
    EXPECT_EQ(1u, c.dropped_live_table);
    EXPECT_EQ(rounded_bytes(weigh(1000, 4096)), c.dropped_weight_bytes);
    EXPECT_EQ(2u, take_own()->stacks.data[0].allocated.samples);
  });
}

// A full table costs detail, never totals.
TEST(Recorder, AFullStackTableLosesNoSample) {
  in_child([] {
    start_at(4096, {1000, 256, 8});
    for (uint64_t i = 0; i < 600; ++i) {
      record(0x10000 + i * 16, 1000, 4096, 0x401000 + i * 16);
    }
    const Counters c = profiler::counters();
    EXPECT_EQ(600u, c.samples);
    EXPECT_EQ(600u, c.live_samples);
    EXPECT_EQ(0u, c.dropped_stack_table);
    EXPECT_EQ(0u, c.dropped_weight_bytes);
    EXPECT_LE(c.stacks, 256u);
    const auto s = take_own();
    EXPECT_EQ(600u, s->records.size);
    EXPECT_NEAR(600 * weigh(1000, 4096).bytes, s->live_weight_bytes, 1.0);
    for (uint64_t i = 0; i < 600; ++i) {
      hooked_free(block_at(0x10000 + i * 16));
    }
    // Nobody needs the old ones any more.
    for (uint64_t i = 0; i < 600; ++i) {
      record(0x10000 + i * 16, 1000, 4096, 0x801000 + i * 16);
      hooked_free(block_at(0x10000 + i * 16));
    }
    EXPECT_EQ(1200u, profiler::counters().samples);
    EXPECT_EQ(1200u, profiler::counters().freed_samples);
    EXPECT_GT(profiler::arena().header().fold.done.load(), 0u);
  });
}

TEST(Recorder, ASaturatedFilterSlotIsCountedAndFreesStillWork) {
  in_child([] {
    start_at(4096);
    // More than 255 samples in one slot: as many GiB apart.
    for (uint64_t i = 0; i < 300; ++i) {
      record(0x10000 + (i << 32));
    }
    EXPECT_EQ(1u, profiler::counters().filter_saturated);
    for (uint64_t i = 0; i < 300; ++i) {
      hooked_free(block_at(0x10000 + (i << 32)));
    }
    EXPECT_EQ(0u, profiler::counters().live_samples);
    EXPECT_EQ(0u, take_own()->records.size);
  });
}

TEST(Recorder, ColdPathsAreCountedWhetherRecordingOrNot) {
  in_child([] {
    profiler::count_cold_path(false, 5);
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4096));
    profiler::count_cold_path(false, 0);
    ASSERT_EQ(Status::kOk, profiler::start());
    profiler::count_cold_path(false, 7);
    EXPECT_EQ(2u, profiler::counters().cold_paths);
    EXPECT_EQ(7u, profiler::counters().muted_bytes);
  });
}

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
