// SPDX-License-Identifier: Apache-2.0
// The profiler is one a process and goes one way: each test runs in a child of its own.
#include "core/engine/ending.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/support/engine.h"
#include "tests/support/recorded.h"

namespace memprof::ending_test {
namespace {

using namespace testing_support::recorded;
using testing_support::in_child;

bool g_is_ending = false;
bool is_ending() {
  return g_is_ending;
}

// What live means to who reads the arena when the process is gone: `records` of those that lived when its end began.
uint64_t freed_records_kept() {
  uint64_t kept = 0;
  const Arena arena = profiler::arena();
  const auto* keys = arena.at<std::atomic<uint64_t>>(kLiveSection);
  for (uint64_t i = 0; i < level_slots(0); ++i) {
    kept += (keys[i].load(std::memory_order_relaxed) & kKeptBits) != 0;
  }
  return kept;
}

TEST(Ending, WhatIsFreedBeforeTheEndIsGone) {
  in_child([] {
    start_at(1);
    record(0x10000);
    profiler::record_free(block_at(0x10000));
    EXPECT_EQ(0u, freed_records_kept());
    EXPECT_EQ(0u, profiler::counters().live_samples);
  });
}

TEST(Ending, WhatIsFreedAfterExitWasCalledIsKeptForReadersAndNotLive) {
  in_child([] {
    start_at(1);
    record(0x10000);
    profiler::note_end_begun();
    record(0x20000);  // younger than the end
    profiler::record_free(block_at(0x10000));
    profiler::record_free(block_at(0x20000));
    EXPECT_EQ(1u, freed_records_kept());
    EXPECT_EQ(0u, profiler::counters().live_samples);
  });
}

TEST(Ending, WhatTheEndFreesHasNoLifetime) {
  in_child([] {
    start_at(1);
    for (const uint64_t address : {0x10000, 0x20000, 0x30000}) record(address);
    profiler::record_free(block_at(0x10000));
    profiler::note_end_begun();
    profiler::record_free(block_at(0x20000));
    record(0x40000);  // younger than the end: it had a life of its own
    profiler::record_free(block_at(0x40000));
    const auto s = take_own();
    uint64_t with_lifetime = 0;
    for (uint64_t i = 0; i < s->lifetimes.size; ++i) with_lifetime += s->lifetimes.data[i].samples;
    EXPECT_EQ(2u, with_lifetime);
    uint64_t freed = 0;
    for (uint64_t i = 0; i < s->stacks.size; ++i) freed += s->stacks.data[i].freed.samples;
    EXPECT_EQ(3u, freed);
    EXPECT_EQ(0u, profiler::counters().unclassed_frees);
  });
}

TEST(Ending, ARuntimeThatEndsBeginsTheEnd) {
  in_child([] {
    g_is_ending = false;
    start_at(1);
    profiler::watch_runtime_end(is_ending);
    record(0x10000);
    record(0x20000);
    profiler::record_free(block_at(0x10000));
    EXPECT_EQ(0u, freed_records_kept());
    g_is_ending = true;
    profiler::record_free(block_at(0x20000));
    EXPECT_EQ(1u, freed_records_kept());
    EXPECT_EQ(static_cast<uint64_t>(EndBegun::kByRuntime),
              profiler::arena().header().ending.begun_by.load(std::memory_order_relaxed));
  });
}

TEST(Ending, TheEndIsWrittenDown) {
  in_child([] {
    start_at(1);
    EXPECT_EQ(0u, profiler::arena().header().end_ns.load(std::memory_order_relaxed));
    profiler::note_end();
    EXPECT_NE(0u, profiler::arena().header().end_ns.load(std::memory_order_relaxed));
  });
}

}  // namespace
}  // namespace memprof::ending_test
