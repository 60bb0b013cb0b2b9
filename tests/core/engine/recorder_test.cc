// SPDX-License-Identifier: Apache-2.0
// The profiler is one a process and goes one way: each test runs in a child of its own.
#include "core/engine/recorder.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/engine/live_samples.h"
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
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::marked_filter_slots;

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

TEST(Recorder, RecordsThatAConditionHoldsOfAreFreed) {
  in_child([] {
    start_at(4096);
    for (const uint64_t address : {0x10000, 0x20000, 0x30000}) record(address, 64, 4096);
    const uint64_t limit = 0x20000;
    profiler::record_free_where(
        [](uint64_t address, const void* context) {
          return address <= *static_cast<const uint64_t*>(context);
        },
        &limit);
    const auto s = take_own();
    ASSERT_EQ(1u, s->records.size);
    EXPECT_EQ(0x30000u, s->records.data[0].address);
    EXPECT_EQ(1u, profiler::counters().live_samples);
    EXPECT_EQ(3u, profiler::counters().samples);
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
    EXPECT_GT(take_own()->records.data[0].time_ns, 0u);
    EXPECT_LT(take_own()->records.data[0].time_ns, uint64_t{1} << 62);  // readers see nothing of it
  });
}

TEST(Recorder, AfterAFailedReallocAFreeThatIsNotSeenCountsAsOne) {
  in_child([] {
    start_at(4096);
    for (const bool fails : {false, true}) {
      record(0x10000);
      const HeapMap::Token token = profiler::begin_realloc(block_at(0x10000));
      if (fails) {
        profiler::cancel_realloc(token);
      }
      record(0x10000);
      EXPECT_EQ(fails ? 1u : 0u, profiler::counters().replaced_samples);
      hooked_free(block_at(0x10000));
    }
    profiler::cancel_realloc({});
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
    EXPECT_EQ(0u, profiler::counters().replaced_samples);  // it was no free that went past us
    EXPECT_EQ(2u, profiler::counters().freed_samples);
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

}  // namespace
}  // namespace memprof::recorder_test
