// SPDX-License-Identifier: Apache-2.0
// Threads that write at once. What is in a profile is tested in tests/dump, where there is its reader.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "core/engine/profiler.h"
#include "memprof.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::write_profile_capi_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;
using testing_support::read_file;
using testing_support::run_threads;
using testing_support::TemporaryFolder;

// From its first byte, a sample type's field, to the comments, which are its end.
bool is_whole(const std::string& profile) {
  return profile.find("#memprof.profile version=1") != std::string::npos &&
         profile.find(" live_samples=1000 ") != std::string::npos &&
         profile.find("#memprof.stack") != std::string::npos;
}

TEST(WriteProfileCapi, RacingWritersLeaveOneWholeProfile) {
  in_child([] {
    const TemporaryFolder folder;
    ASSERT_EQ(Status::kOk, profiler::initialize({1 << 16, 4096, 64}, 4096));
    ASSERT_EQ(Status::kOk, profiler::start());
    for (uint64_t i = 0; i < 1000; ++i) {
      const FakeStack stack(0x401000 + i % 50 * 16);
      profiler::record_allocation(reinterpret_cast<void*>(0x10000 + i * 16), 100, 4096, stack.entry());
    }
    std::atomic<int> written{0};
    run_threads(8, [&](int thread) {
      const int result = memprof_write_profile(folder.path("a.pb").c_str(), 0);
      EXPECT_TRUE(result == MEMPROF_OK || result == MEMPROF_ERR_EXISTS) << result;
      written += result == MEMPROF_OK;
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("b.pb").c_str(), MEMPROF_WRITE_OVERWRITE))
            << thread;
      }
    });
    EXPECT_EQ(1, written.load());
    EXPECT_TRUE(is_whole(read_file(folder.path("a.pb"))));
    EXPECT_TRUE(is_whole(read_file(folder.path("b.pb"))));
    EXPECT_EQ(2u, folder.entries());
    std::filesystem::remove_all(folder.path(""));  // the folder's own end is not reached in a child
  });
}

}  // namespace
}  // namespace memprof::write_profile_capi_test
