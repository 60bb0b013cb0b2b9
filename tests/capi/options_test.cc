// SPDX-License-Identifier: Apache-2.0
// Options of the public C API, without hooks.
#include "memprof.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "core/arena/arena.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"

namespace memprof::memprof_test {
namespace {

using testing_support::in_child;

TEST(CApi, OptionsBeginAsTheDefaults) {
  memprof_options options;
  std::memset(&options, 0xff, sizeof(options));
  ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
  EXPECT_EQ(sizeof(options), options.struct_size);
  EXPECT_EQ(MEMPROF_DEFAULT_RATE_BYTES, options.rate_bytes);
  EXPECT_EQ(0u, options.max_depth);
  EXPECT_EQ(0u, options.max_live_samples);
  EXPECT_EQ(0u, options.max_stacks);
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_options_init(nullptr, sizeof(options)));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_options_init(&options, 0));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_options_init(&options, offsetof(memprof_options, python) - 1));
}

TEST(CApi, OptionsOfTheFirstVersionAreAccepted) {
  in_child([] {
    memprof_options options;
    std::memset(&options, 0xff, sizeof(options));
    constexpr uint32_t kFirst = offsetof(memprof_options, python);
    ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, kFirst));
    EXPECT_EQ(UINT32_MAX, options.python);  // not theirs to write
    EXPECT_EQ(MEMPROF_OK, memprof_init(&options));
  });
}

TEST(CApi, OptionsOfALaterVersionAreAccepted) {
  struct {
    memprof_options known;
    uint64_t later[4];
    uint64_t behind;
  } options;
  std::memset(&options, 0xff, sizeof(options));
  constexpr uint32_t kSize = offsetof(decltype(options), behind);
  ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options.known, kSize));
  EXPECT_EQ(kSize, options.known.struct_size);
  EXPECT_EQ(UINT64_MAX, options.behind);
  in_child([&] { EXPECT_EQ(MEMPROF_OK, memprof_init(&options.known)); });
}

TEST(CApi, WrongOptionsAreRefused) {
  const auto is_refused = [](auto change) {
    memprof_options options = options_of(4096);
    change(options);
    in_child([&] {
      EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_init(&options));
      EXPECT_EQ(uint32_t{MEMPROF_STATE_UNINITIALIZED}, stats().state);
    });
    return !::testing::Test::HasFailure();
  };
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.struct_size = 0; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.struct_size = offsetof(memprof_options, python) - 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.rate_bytes = (uint64_t{1} << 50) + 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.rate_bytes = UINT64_MAX; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_depth = 1025; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_depth = UINT32_MAX; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_live_samples = UINT64_MAX; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_stacks = UINT64_MAX; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.memory_limit_bytes = (4 << 20) - 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.budget_ppm = 500001; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_rate_bytes = (uint64_t{1} << 50) + 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.max_rate_bytes = 16383; }));  // the least is 16 KiB
  EXPECT_TRUE(is_refused([](memprof_options& o) {
    o.min_rate_bytes = 1 << 20;
    o.max_rate_bytes = 1 << 19;
  }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.python = MEMPROF_USE_STACKS + 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.runtimes[0] = MEMPROF_USE_STACKS + 1; }));
  EXPECT_TRUE(is_refused([](memprof_options& o) { o.runtimes[MEMPROF_MAX_RUNTIMES - 1] = UINT32_MAX; }));
}

TEST(CApi, ABudgetBeginsWithTheRateWithinItsBounds) {
  in_child([] {
    memprof_options options = options_of(4096);
    options.budget_ppm = 5000;
    options.min_rate_bytes = 100000;
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    EXPECT_EQ(5000u, stats().budget_ppm);
    EXPECT_EQ(100000u, stats().rate_bytes);
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    uint64_t count = 0;
    const memprof_rate_use* const uses = memprof_snapshot_rates(snapshot, &count);
    ASSERT_EQ(1u, count);
    EXPECT_EQ(100000u, uses[0].rate_bytes);
    EXPECT_EQ(0u, uses[0].weight_bytes);
    EXPECT_GT(uses[0].time_ns, 0u);
    memprof_free_snapshot(snapshot);
    EXPECT_EQ(nullptr, memprof_snapshot_rates(nullptr, &count));
    EXPECT_EQ(0u, count);
  });
}

TEST(CApi, TablesStayWithinALimitOfMemory) {
  for (const uint64_t limit : {uint64_t{4} << 20, uint64_t{33} << 20}) {
    in_child([limit] {
      memprof_options options = options_of(4096);
      options.memory_limit_bytes = limit;
      ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
      EXPECT_LE(stats().arena_bytes, limit);
      EXPECT_GT(stats().arena_bytes, limit * 3 / 4);
    });
  }
}

// A program that was compiled before there were budgets.
TEST(CApi, OptionsWithoutABudgetHaveNone) {
  in_child([] {
    memprof_options options = options_of(4096);
    options.budget_ppm = 5000;
    options.struct_size = offsetof(memprof_options, budget_ppm);
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    EXPECT_EQ(0u, stats().budget_ppm);
    EXPECT_EQ(4096u, stats().rate_bytes);
  });
}

TEST(CApi, TheEdgesOfOptionsAreAccepted) {
  for (const uint64_t rate : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 50}) {
    in_child([&] {
      memprof_options options = options_of(rate);
      options.max_depth = rate == 0 ? 1 : 1024;
      options.max_live_samples = 1;
      options.max_stacks = 1;
      ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
      EXPECT_EQ(rate, stats().rate_bytes);
      profiler::announce_hooks();
      ASSERT_EQ(MEMPROF_OK, memprof_start());
      record(0x10000);
      record(0x20000);
      EXPECT_EQ(1u, stats().live_samples);
      EXPECT_EQ(1u, stats().dropped_live_table);
    });
  }
}

TEST(CApi, NullOptionsAreTheDefaults) {
  in_child([] {
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    EXPECT_EQ(8192u, stats().rate_bytes) << "it starts fine";
    const Limits& limits = profiler::arena().header().limits;
    EXPECT_EQ(1048576u, limits.max_live_samples);
    EXPECT_EQ(65536u, limits.max_stacks);
    EXPECT_EQ(512u, limits.max_depth);
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));  // a second call does nothing
    const memprof_options other = options_of(1);
    ASSERT_EQ(MEMPROF_OK, memprof_init(&other));
    EXPECT_EQ(8192u, stats().rate_bytes);
  });
}

TEST(CApi, ARateCanStartFine) {
  in_child([] {
    memprof_options options = options_of(MEMPROF_RATE_STARTS_FINE);
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    EXPECT_EQ(8192u, stats().rate_bytes);
    ASSERT_EQ(MEMPROF_OK, memprof_set_rate(65536));
    EXPECT_EQ(65536u, stats().rate_bytes);
    ASSERT_EQ(MEMPROF_OK, memprof_set_rate(MEMPROF_RATE_STARTS_FINE));
    EXPECT_EQ(8192u, stats().rate_bytes);
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_set_rate(MEMPROF_RATE_STARTS_FINE - 1));
  });
  in_child([] {
    memprof_options options = options_of(4096);
    options.rate_bytes = MEMPROF_RATE_STARTS_FINE - 1;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_init(&options));
    options.rate_bytes = MEMPROF_DEFAULT_RATE_BYTES;
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    EXPECT_EQ(MEMPROF_DEFAULT_RATE_BYTES, stats().rate_bytes) << "a rate that is given stays";
  });
}

TEST(CApi, ZeroLimitsAreTheDefaults) {
  in_child([] {
    const memprof_options options = options_of(4096);
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    EXPECT_EQ(1048576u, profiler::arena().header().limits.max_live_samples);
    EXPECT_EQ(512u, profiler::arena().header().limits.max_depth);
  });
}

}  // namespace
}  // namespace memprof::memprof_test
