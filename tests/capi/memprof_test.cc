// SPDX-License-Identifier: Apache-2.0
// The public C API, without hooks: what a hook would record is recorded by the test.
#include "memprof.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

#include "core/arena/arena.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::memprof_test {
namespace {

using testing_support::in_child;
using testing_support::TemporaryFolder;

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

TEST(CApi, EachRuntimeHasItsName) {
  EXPECT_STREQ("CPython", memprof_runtime_name(MEMPROF_RUNTIME_CPYTHON));
  EXPECT_STREQ("", memprof_runtime_name(0));
  EXPECT_STREQ("", memprof_runtime_name(UINT32_MAX));
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

TEST(CApi, OneThreadAloneCanBeRecorded) {
  in_child([] {
    const auto here = static_cast<uint32_t>(gettid());
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_record_thread(here));
    start(0);
    EXPECT_EQ(MEMPROF_OK, memprof_record_thread(here));
    record(0x10000);
    std::thread([] {
      record(0x20000);
      memprof::profiler::record_free(reinterpret_cast<void*>(0x10000));
    }).join();
    EXPECT_EQ(1u, stats().samples);
    EXPECT_EQ(0u, stats().live_samples) << "another thread freed it";
    EXPECT_EQ(MEMPROF_OK, memprof_record_thread(0));
    std::thread([] { record(0x20000); }).join();
    EXPECT_EQ(2u, stats().samples);
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
  EXPECT_EQ(nullptr, memprof_snapshot_mappings(nullptr, nullptr));
  EXPECT_EQ(nullptr, memprof_snapshot_symbols(nullptr, nullptr));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(nullptr, 0));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile_fd(-1));
  in_child([] {
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_info(snapshot, nullptr));
    memprof_memory memory;
    memory.struct_size = sizeof(memory);
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_memory(nullptr, &memory));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_memory(snapshot, nullptr));
    EXPECT_EQ(MEMPROF_OK, memprof_snapshot_get_memory(snapshot, &memory));
    EXPECT_EQ(0u, memory.time_ns);  // mappings are not recorded
    memory.struct_size = 8;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_memory(snapshot, &memory));
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
