// SPDX-License-Identifier: Apache-2.0
// The public C API, without hooks: what a hook would record is recorded by the test.
#include "memprof.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/arena/arena.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::memprof_test {
namespace {

using testing_support::FakeStack;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::TemporaryFolder;

memprof_options options_of(uint64_t rate_bytes) {
  memprof_options options;
  EXPECT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
  options.rate_bytes = rate_bytes;
  return options;
}

void start(uint64_t rate_bytes = 4096) {
  profiler::announce_hooks();
  const memprof_options options = options_of(rate_bytes);
  ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
  ASSERT_EQ(MEMPROF_OK, memprof_start());
}

void record(uint64_t address, uint64_t size_bytes = 100, uint64_t rate_bytes = 4096,
            uint64_t caller = 0x401000) {
  const FakeStack stack(caller);
  profiler::record_allocation(reinterpret_cast<void*>(address), size_bytes, rate_bytes, stack.entry());
}

memprof_stats stats() {
  memprof_stats s;
  s.struct_size = sizeof(s);
  EXPECT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  return s;
}

TEST(CApi, EveryErrorHasAText) {
  std::set<std::string> texts;
  for (int error = 0; error >= -10; --error) {
    ASSERT_NE(nullptr, memprof_strerror(error));
    texts.insert(memprof_strerror(error));
    EXPECT_EQ(std::string::npos, std::string(memprof_strerror(error)).find('\n'));
  }
  EXPECT_EQ(11u, texts.size());
  EXPECT_STREQ(memprof_strerror(1), memprof_strerror(-1000));
  EXPECT_STREQ(memprof_strerror(1), memprof_strerror(INT32_MIN));
}

TEST(CApi, TheVersionIsThreeNumbers) {
  int major = -1, minor = -1, patch = -1, end = 0;
  EXPECT_EQ(3, std::sscanf(memprof_version(), "%d.%d.%d%n", &major, &minor, &patch, &end));
  EXPECT_EQ('\0', memprof_version()[end]);
}

// ---- Options

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

TEST(CApi, EachRuntimeHasItsName) {
  EXPECT_STREQ("CPython", memprof_runtime_name(MEMPROF_RUNTIME_CPYTHON));
  EXPECT_STREQ("", memprof_runtime_name(0));
  EXPECT_STREQ("", memprof_runtime_name(UINT32_MAX));
}

// Programs that were compiled before there were other runtimes.
TEST(CApi, StatisticsOfTheVersionBeforeRuntimesAreWritten) {
  memprof_stats s;
  std::memset(&s, 0xff, sizeof(s));
  s.struct_size = offsetof(memprof_stats, runtimes);
  ASSERT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  EXPECT_EQ(0u, s.python_version);
  EXPECT_EQ(UINT32_MAX, s.runtimes[0].version);
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
    EXPECT_EQ(MEMPROF_DEFAULT_RATE_BYTES, stats().rate_bytes);
    const Limits& limits = profiler::arena().header().limits;
    EXPECT_EQ(1048576u, limits.max_live_samples);
    EXPECT_EQ(65536u, limits.max_stacks);
    EXPECT_EQ(512u, limits.max_depth);
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));  // a second call does nothing
    const memprof_options other = options_of(1);
    ASSERT_EQ(MEMPROF_OK, memprof_init(&other));
    EXPECT_EQ(MEMPROF_DEFAULT_RATE_BYTES, stats().rate_bytes);
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

// ---- Life cycle

TEST(CApi, LifeCycleErrors) {
  in_child([] {
    EXPECT_EQ(MEMPROF_STATE_UNINITIALIZED, stats().state);
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_start());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_stop());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_shutdown());
    memprof_snapshot* snapshot = nullptr;
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_get_snapshot(&snapshot));
    EXPECT_EQ(nullptr, snapshot);
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    profiler::announce_hooks();
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_start());
    EXPECT_EQ(MEMPROF_STATE_ACTIVE, stats().state);
    EXPECT_EQ(MEMPROF_OK, memprof_stop());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_stop());
    EXPECT_EQ(MEMPROF_STATE_STOPPED, stats().state);
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    EXPECT_EQ(MEMPROF_OK, memprof_shutdown());  // stops first
    EXPECT_EQ(MEMPROF_STATE_TERMINATED, stats().state);
    EXPECT_EQ(MEMPROF_OK, memprof_shutdown());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_init(nullptr));
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_start());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_stop());
    EXPECT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));  // the data stay readable
    memprof_free_snapshot(snapshot);
  });
}

TEST(CApi, SetRateInAnyState) {
  in_child([] {
    EXPECT_EQ(MEMPROF_OK, memprof_set_rate(0));
    EXPECT_EQ(0u, stats().rate_bytes);
    EXPECT_EQ(MEMPROF_OK, memprof_set_rate(uint64_t{1} << 50));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_set_rate((uint64_t{1} << 50) + 1));
    EXPECT_EQ(uint64_t{1} << 50, stats().rate_bytes);
    start(4096);
    EXPECT_EQ(4096u, stats().rate_bytes);
    EXPECT_EQ(MEMPROF_OK, memprof_set_rate(77));
    EXPECT_EQ(77u, stats().rate_bytes);
  });
}

TEST(CApi, ThePeakCanBeReset) {
  in_child([] {
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_reset_peak());
    start(0);
    record(0x10000);
    const uint64_t live = stats().live_weight_bytes;
    EXPECT_GT(live, 0u);
    memprof::profiler::record_free(reinterpret_cast<void*>(0x10000));
    EXPECT_EQ(0u, stats().live_weight_bytes);
    EXPECT_EQ(live, stats().peak_weight_bytes);
    EXPECT_EQ(MEMPROF_OK, memprof_reset_peak());
    EXPECT_EQ(0u, stats().peak_weight_bytes);
  });
}

TEST(CApi, AForkChildIsTold) {
  in_child([] {
    start();
    record(0x10000);
    const pid_t pid = fork();
    if (pid == 0) {
      memprof_snapshot* snapshot = nullptr;
      const TemporaryFolder folder;
      const bool right = memprof_start() == MEMPROF_ERR_FORKED && memprof_stop() == MEMPROF_ERR_FORKED &&
                         memprof_shutdown() == MEMPROF_ERR_FORKED &&
                         memprof_reset_peak() == MEMPROF_ERR_FORKED &&
                         memprof_get_snapshot(&snapshot) == MEMPROF_ERR_FORKED && snapshot == nullptr &&
                         memprof_write_profile(folder.path("a.pb").c_str(), 0) == MEMPROF_ERR_FORKED &&
                         memprof_write_profile_fd(2) == MEMPROF_ERR_FORKED && folder.entries() == 0;
      std::filesystem::remove_all(folder.path(""));
      _exit(right ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(1u, stats().live_samples);
  });
}

TEST(CApi, AForkChildBeginsAnew) {
  in_child([] {
    const TemporaryFolder folder;
    setenv("MEMPROF_ARENA_DIR", folder.path("").c_str(), 1);
    start();
    record(0x10000);
    EXPECT_EQ(1u, folder.entries());
    in_child([&folder] {
      EXPECT_EQ(MEMPROF_STATE_UNINITIALIZED, static_cast<int>(stats().state));
      EXPECT_EQ(0u, stats().live_samples);
      EXPECT_EQ(MEMPROF_ERR_FORKED, memprof_start());
      start();
      EXPECT_EQ(MEMPROF_STATE_ACTIVE, static_cast<int>(stats().state));
      record(0x20000);
      record(0x30000);
      EXPECT_EQ(2u, stats().live_samples);
      EXPECT_EQ(2u, folder.entries()) << "an arena of its own";
      EXPECT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("child.pb").c_str(), 0));
      EXPECT_EQ(MEMPROF_OK, memprof_shutdown());
    });
    EXPECT_EQ(1u, stats().live_samples);
    EXPECT_EQ(MEMPROF_STATE_ACTIVE, static_cast<int>(stats().state));
    std::filesystem::remove_all(folder.path(""));
  });
}

TEST(CApi, AForkChildOfAProcessThatHadNotBegunBeginsByItself) {
  in_child([] {
    memprof::profiler::adopt_process();  // as when the library is loaded
    const pid_t pid = fork();
    if (pid == 0) {
      start();
      record(0x10000);
      memprof_snapshot* snapshot = nullptr;
      const bool right = stats().live_samples == 1 && memprof_get_snapshot(&snapshot) == MEMPROF_OK;
      _exit(right ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(0, status);
    EXPECT_EQ(MEMPROF_STATE_UNINITIALIZED, stats().state);
    start();
    record(0x20000);
    EXPECT_EQ(1u, stats().live_samples);
  });
}

// ---- Statistics

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

// ---- Snapshots

TEST(CApi, SnapshotsHoldWhatIsRecorded) {
  in_child([] {
    start();
    record(0x10000, 100, 4096, 0x401000);
    record(0x20000, 64, 1000, 0x402000);
    record(0x30000, 64, 4096, 0x402000);
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    ASSERT_EQ(MEMPROF_OK, memprof_shutdown());  // it outlives the profiler

    uint64_t count = 99;
    const memprof_record* records = memprof_snapshot_records(snapshot, &count);
    ASSERT_EQ(3u, count);
    EXPECT_EQ(0x10000u, records[0].address);
    EXPECT_EQ(0x20000u, records[1].address);
    EXPECT_EQ(0x30000u, records[2].address);
    EXPECT_EQ(weigh(100, 4096).bytes, records[0].weight_bytes);
    EXPECT_EQ(weigh(64, 1000).count, records[1].weight_count);
    EXPECT_EQ(platform::thread_id(), records[2].thread_id);

    const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, &count);
    ASSERT_EQ(2u, count);
    EXPECT_EQ(1u, stacks[0].allocated.samples);
    EXPECT_EQ(2u, stacks[1].allocated.samples);
    EXPECT_EQ(128u, stacks[1].allocated.size_bytes);
    const uint64_t* frames = memprof_snapshot_frames(snapshot, &count);
    ASSERT_EQ(2u, count);
    EXPECT_EQ(0x402000u, frames[stacks[records[2].stack_id].first_frame]);
    EXPECT_NE(nullptr, memprof_snapshot_modules(snapshot, &count));
    EXPECT_EQ(0u, count);
    const char* strings = memprof_snapshot_strings(snapshot, &count);
    ASSERT_GE(count, 1u);
    EXPECT_EQ('\0', strings[0]);
    EXPECT_EQ(nullptr, memprof_snapshot_symbols(snapshot, &count));
    EXPECT_EQ(0u, count);
    EXPECT_NE(nullptr, memprof_snapshot_records(snapshot, nullptr));

    memprof_snapshot_info info;
    info.struct_size = sizeof(info);
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_get_info(snapshot, &info));
    EXPECT_EQ(static_cast<uint32_t>(getpid()), info.pid);
    EXPECT_EQ(4096u, info.rate_bytes);
    EXPECT_LE(info.start_ns, info.time_ns);
    EXPECT_LE(info.time_ns, platform::monotonic_ns());
    EXPECT_NEAR(static_cast<double>(platform::unix_ns()), static_cast<double>(info.time_unix_ns), 60e9);
    EXPECT_DOUBLE_EQ(records[0].weight_bytes + records[1].weight_bytes + records[2].weight_bytes,
                     info.live_weight_bytes);
    EXPECT_DOUBLE_EQ(records[0].weight_count + records[1].weight_count + records[2].weight_count,
                     info.live_weight_count);
    info.struct_size = 8;
    info.rate_bytes = 1;
    EXPECT_EQ(MEMPROF_OK, memprof_snapshot_get_info(snapshot, &info));
    EXPECT_EQ(1u, info.rate_bytes);
    info.struct_size = 7;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_info(snapshot, &info));
    memprof_free_snapshot(snapshot);
  });
}

TEST(CApi, AnEmptySnapshotHasArrays) {
  in_child([] {
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    uint64_t count = 99;
    EXPECT_NE(nullptr, memprof_snapshot_records(snapshot, &count));
    EXPECT_EQ(0u, count);
    EXPECT_NE(nullptr, memprof_snapshot_stacks(snapshot, &count));
    EXPECT_EQ(0u, count);
    EXPECT_NE(nullptr, memprof_snapshot_frames(snapshot, &count));
    EXPECT_EQ(0u, count);
    EXPECT_EQ(0, memprof_resolve_symbols(snapshot));
    memprof_free_snapshot(snapshot);
  });
}

TEST(CApi, NullsAreErrorsAndNeverCrashes) {
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_get_snapshot(nullptr));
  memprof_free_snapshot(nullptr);
  memprof_snapshot_info info;
  info.struct_size = sizeof(info);
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_info(nullptr, &info));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_resolve_symbols(nullptr));
  uint64_t count = 99;
  EXPECT_EQ(nullptr, memprof_snapshot_records(nullptr, &count));
  EXPECT_EQ(0u, count);
  EXPECT_EQ(nullptr, memprof_snapshot_stacks(nullptr, nullptr));
  EXPECT_EQ(nullptr, memprof_snapshot_frames(nullptr, nullptr));
  EXPECT_EQ(nullptr, memprof_snapshot_modules(nullptr, nullptr));
  EXPECT_EQ(nullptr, memprof_snapshot_strings(nullptr, nullptr));
  EXPECT_EQ(nullptr, memprof_snapshot_symbols(nullptr, nullptr));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(nullptr, 0));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile_fd(-1));
  in_child([] {
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_info(snapshot, nullptr));
    memprof_free_snapshot(snapshot);
  });
}

TEST(CApi, SnapshotsAreFreedInAnyOrderOnAnyThread) {
  in_child([] {
    start();
    memprof_snapshot* snapshots[20];
    for (uint64_t i = 0; i < 20; ++i) {
      record(0x10000 + i * 16);
      ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshots[i]));
    }
    std::thread other([&] {
      for (int i = 19; i >= 0; i -= 2) {
        memprof_free_snapshot(snapshots[i]);
      }
    });
    for (uint64_t i = 0; i < 20; i += 2) {
      uint64_t count = 0;
      memprof_snapshot_records(snapshots[i], &count);
      EXPECT_EQ(i + 1, count);
      memprof_free_snapshot(snapshots[i]);
    }
    other.join();
  });
}

TEST(CApi, ResolvesNames) {
  in_child([] {
    start();
    const uint64_t function = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    record(0x10000, 100, 4096, function + 3);
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    ASSERT_GE(memprof_resolve_symbols(snapshot), 1);
    uint64_t count = 0;
    const memprof_symbol* symbols = memprof_snapshot_symbols(snapshot, &count);
    uint64_t frames = 0;
    memprof_snapshot_frames(snapshot, &frames);
    ASSERT_EQ(frames, count);
    EXPECT_STREQ("gnu_get_libc_version",
                 memprof_snapshot_strings(snapshot, nullptr) + symbols[0].name_offset);
    EXPECT_EQ(3u, symbols[0].symbol_offset);
    EXPECT_EQ(0u, t_sampler.muted);
    memprof_free_snapshot(snapshot);
  });
}

// ---- errno

TEST(CApi, ErrnoStaysAsItWas) {
  in_child([] {
    const TemporaryFolder folder;
    profiler::announce_hooks();
    static constexpr int kErrno = 4242;
    const auto check = [](const char* what) {
      EXPECT_EQ(kErrno, errno) << what;
      errno = kErrno;
    };
    errno = kErrno;
    memprof_options options;
    memprof_options_init(&options, sizeof(options));
    check("options_init");
    options.max_live_samples = uint64_t{1} << 30;
    EXPECT_EQ(MEMPROF_OK, memprof_init(&options));
    check("init");
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    check("start");
    EXPECT_EQ(MEMPROF_OK, memprof_set_rate(100));
    check("set_rate");
    record(0x10000);
    errno = kErrno;
    stats();
    check("get_stats");
    memprof_snapshot* snapshot = nullptr;
    EXPECT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    check("get_snapshot");
    memprof_resolve_symbols(snapshot);
    check("resolve_symbols");
    memprof_free_snapshot(snapshot);
    check("free_snapshot");
    const std::string path = folder.path("a.pb");
    errno = kErrno;
    EXPECT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), 0));
    check("write_profile");
    EXPECT_EQ(MEMPROF_ERR_EXISTS, memprof_write_profile(path.c_str(), 0));
    check("write_profile to what exists");
    EXPECT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), MEMPROF_WRITE_OVERWRITE));
    check("write_profile over");
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile("%x.pb", 0));
    check("write_profile of a wrong pattern");
    EXPECT_EQ(MEMPROF_OK, memprof_stop());
    check("stop");
    EXPECT_EQ(MEMPROF_OK, memprof_shutdown());
    check("shutdown");
    EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_write_profile(folder.path("no/a.pb").c_str(), 0));
    EXPECT_EQ(ENOENT, errno);  // here it says why
    std::filesystem::remove_all(folder.path(""));
  });
}

}  // namespace
}  // namespace memprof::memprof_test
