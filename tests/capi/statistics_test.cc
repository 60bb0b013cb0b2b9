// SPDX-License-Identifier: Apache-2.0
// Statistics of the public C API, without hooks.
#include "memprof.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <numeric>

#include "core/arena/arena.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"

namespace memprof::memprof_test {
namespace {

using testing_support::hooked_free;
using testing_support::in_child;

// Programs that were compiled before there were other runtimes.
TEST(CApi, StatisticsOfTheVersionBeforeRuntimesAreWritten) {
  memprof_stats s;
  std::memset(&s, 0xff, sizeof(s));
  s.struct_size = offsetof(memprof_stats, runtimes);
  ASSERT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  EXPECT_EQ(0u, s.python_version);
  EXPECT_EQ(UINT32_MAX, s.runtimes[0].version);
}

TEST(CApi, StatisticsFollowTheStructSize) {
  in_child([] {
    start();
    for (uint64_t i = 0; i < 5; ++i) {
      record(0x10000 + i * 16);
    }
    memprof_stats s;
    for (const uint32_t size : {0u, 4u, 7u}) {
      s.struct_size = size;
      EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_get_stats(&s));
    }
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_get_stats(nullptr));
    std::memset(&s, 0x55, sizeof(s));
    s.struct_size = offsetof(memprof_stats, live_samples);  // a caller of an earlier version
    ASSERT_EQ(MEMPROF_OK, memprof_get_stats(&s));
    EXPECT_EQ(offsetof(memprof_stats, live_samples), s.struct_size);
    EXPECT_EQ(5u, s.samples);
    EXPECT_EQ(0x5555555555555555u, s.live_samples);
    struct {
      memprof_stats known;
      uint64_t later;
    } large;
    std::memset(&large, 0x55, sizeof(large));
    large.known.struct_size = sizeof(large);  // and of a later one
    ASSERT_EQ(MEMPROF_OK, memprof_get_stats(&large.known));
    EXPECT_EQ(5u, large.known.live_samples);
    EXPECT_EQ(0x5555555555555555u, large.later);
  });
}

TEST(CApi, StatisticsCount) {
  in_child([] {
    memprof_options options = options_of(4096);
    options.max_live_samples = 7;  // too few for thinning
    options.max_stacks = 3;
    profiler::announce_hooks();
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    ASSERT_EQ(MEMPROF_OK, memprof_start());
    for (uint64_t i = 0; i < 12; ++i) {
      record(0x10000 + i * 16, 100, 4096, 0x401000 + i % 3 * 16);
    }
    record(0x20000, 100, 4096, 0x501000);  // a fourth stack
    hooked_free(reinterpret_cast<void*>(0x10000));
    profiler::count_cold_path(false, 5);
    const memprof_stats s = stats();
    EXPECT_EQ(13u, s.samples);
    EXPECT_EQ(6u, s.live_samples);
    EXPECT_EQ(1u, s.freed_samples);
    EXPECT_EQ(0u, s.thinned_samples);
    EXPECT_EQ(6u, s.dropped_samples);
    EXPECT_EQ(s.dropped_live_table, s.dropped_samples);
    EXPECT_EQ(0u, s.dropped_stack_table);
    EXPECT_EQ(s.dropped_samples * static_cast<uint64_t>(weigh(100, 4096).bytes + 0.5),
              s.dropped_weight_bytes);
    EXPECT_EQ(3u, s.stacks);  // two, and one for the rest
    EXPECT_EQ(13u, s.frames);
    EXPECT_EQ(1u, s.min_depth);
    EXPECT_EQ(13u + 1, s.cold_paths);  // each sample is one
    EXPECT_EQ(5u, s.muted_bytes);
    EXPECT_EQ(13u, std::accumulate(s.walks, s.walks + MEMPROF_WALK_REASONS, uint64_t{0}));
    EXPECT_GT(s.arena_bytes, s.arena_used_bytes);
    EXPECT_GT(s.arena_used_bytes, 4096u);
  });
}

}  // namespace
}  // namespace memprof::memprof_test
