// SPDX-License-Identifier: Apache-2.0
// Snapshots of the public C API, without hooks.
#include "memprof.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/arena/arena.h"
#include "core/engine/profiler.h"
#include "core/sampling/weight.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"

namespace memprof::memprof_test {
namespace {

using testing_support::in_child;

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

}  // namespace
}  // namespace memprof::memprof_test
