// SPDX-License-Identifier: Apache-2.0
// The profiler is one a process and goes one way: each test runs in a child of its own.
#include "core/engine/ownership.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "platform/process.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"
#include "tests/support/recorded.h"

namespace memprof::ownership_test {
namespace {

using namespace testing_support::recorded;
using testing_support::counters_of;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::marked_filter_slots;
using testing_support::run_threads;

// ---- Tables that are made at the first sample

// One of them makes the tables, which takes a millisecond; the others wait for it.
TEST(Ownership, ThreadsThatBeginTogetherLoseNoSample) {
  in_child([] {
    profiler::Sharing late;
    late.defer_tables = true;
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4096, late));
    ASSERT_EQ(Status::kOk, profiler::start());
    ASSERT_FALSE(profiler::arena());
    constexpr int kThreads = 8;
    constexpr uint64_t kEach = 100;
    run_threads(kThreads, [](int thread) {
      for (uint64_t i = 0; i < kEach; ++i) {
        record(0x100000 * (static_cast<uint64_t>(thread) + 1) + i * 16);
      }
    });
    EXPECT_EQ(kThreads * kEach, profiler::counters().samples);
  });
}

// ---- Children

TEST(Ownership, AForkChildRecordsNothingAndIsRefused) {
  in_child([] {
    start_at(4096);
    record(0x10000);
    const Arena parents = profiler::arena();
    const auto check_child = [&parents] {
      const bool right = !profiler::is_owner() && profiler::start() == Status::kForked &&
                         profiler::stop() == Status::kForked && profiler::shutdown() == Status::kForked;
      record(0x20000);
      hooked_free(block_at(0x10000));
      profiler::set_rate(64);
      const Counters c = counters_of(parents);
      return right && profiler::state() == State::kUninitialized && !profiler::arena() &&
             profiler::counters().samples == 0 && c.rate_bytes == 4096 && c.samples == 1 &&
             c.live_samples == 1 && c.freed_samples == 0;
    };
    const pid_t forked = fork();
    if (forked == 0) {
      _exit(check_child() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(forked, waitpid(forked, &status, 0));
    EXPECT_EQ(0, status);
    // A child without any handler of the C library.
    const pid_t cloned = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (cloned == 0) {
      syscall(SYS_exit_group, check_child() ? 0 : 1);
    }
    ASSERT_EQ(cloned, waitpid(cloned, &status, 0));
    EXPECT_EQ(0, status);
    // The parent goes on.
    record(0x30000);
    EXPECT_EQ(2u, profiler::counters().live_samples);
    EXPECT_TRUE(profiler::is_owner());
  });
}

// Questions make no tables; become_owner() does, where children are followed.
TEST(Ownership, OnlyBecomingTheOwnerMakesTables) {
  for (const bool follow : {true, false}) {
    in_child([follow] {
      profiler::Sharing sharing;
      sharing.follow_fork = follow;
      ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4096, sharing));
      ASSERT_EQ(Status::kOk, profiler::start());
      EXPECT_TRUE(profiler::become_owner());
      EXPECT_FALSE(profiler::remains_off());
      in_child([follow] {
        EXPECT_FALSE(profiler::is_owner());
        profiler::state();
        profiler::counters();
        EXPECT_FALSE(profiler::is_owner());
        EXPECT_FALSE(profiler::arena());
        EXPECT_EQ(follow, profiler::become_owner());
        EXPECT_EQ(follow, profiler::is_owner());
        EXPECT_EQ(follow, static_cast<bool>(profiler::arena()));
        EXPECT_EQ(!follow, profiler::remains_off());
      });
    });
  }
}

// In C as in a gunicorn's post_fork.
TEST(Ownership, AForkChildBeginsAnew) {
  in_child([] {
    start_at(4096);
    record(0x10000);
    EXPECT_NE(0u, marked_filter_slots());
    const Arena parents = profiler::arena();
    in_child([] {
      const Limits other{128, 64, 16};
      // By several threads at once.
      run_threads(4, [&other](int) { EXPECT_EQ(Status::kOk, profiler::initialize(other, 512)); });
      EXPECT_TRUE(profiler::is_owner());
      EXPECT_EQ(State::kInitialized, profiler::state());
      EXPECT_EQ(0u, marked_filter_slots()) << "what is live in the parent costs the child's frees nothing";
      ASSERT_EQ(Status::kOk, profiler::start());
      EXPECT_EQ(other.max_live_samples, profiler::arena().header().limits.max_live_samples);
      record(0x20000);
      record(0x30000);
      hooked_free(block_at(0x10000));
      hooked_free(block_at(0x20000));
      const Counters c = profiler::counters();
      EXPECT_EQ(512u, c.rate_bytes);
      EXPECT_EQ(2u, c.samples);
      EXPECT_EQ(1u, c.freed_samples);
      EXPECT_EQ(0u, c.replaced_samples);
      EXPECT_EQ(1u, take_own()->records.size);
      EXPECT_EQ(profiler::arena().header().process_id, platform::process_id());
      // And its child again, without a handler of the C library.
      const pid_t cloned =
          static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      if (cloned == 0) {
        const bool begins = profiler::state() == State::kUninitialized &&
                            profiler::initialize(kLimits, 4096) == Status::kOk &&
                            profiler::start() == Status::kOk;
        record(0x40000);
        syscall(SYS_exit_group, begins && profiler::counters().samples == 1 ? 0 : 1);
      }
      int status = 1;
      ASSERT_EQ(cloned, waitpid(cloned, &status, 0));
      EXPECT_EQ(0, status);
      EXPECT_EQ(Status::kOk, profiler::shutdown());
      EXPECT_EQ(2u, profiler::counters().samples);
    });
    const Counters c = counters_of(parents);
    EXPECT_EQ(1u, c.samples);
    EXPECT_EQ(1u, c.live_samples);
    EXPECT_EQ(0u, c.freed_samples);
    EXPECT_EQ(4096u, c.rate_bytes);
    EXPECT_EQ(State::kActive, profiler::state());
  });
}

// Neither stopped nor terminated, nor a limit or heap name too many: nothing of the parent's holds.
TEST(Ownership, AForkChildBeginsAnewWhateverItsParentsState) {
  for (const State parent : {State::kStopped, State::kTerminated}) {
    in_child([parent] {
      start_at(4096);
      const uint32_t heap = profiler::register_heap("pool", 4);
      ASSERT_EQ(Status::kOk, parent == State::kStopped ? profiler::stop() : profiler::shutdown());
      in_child([heap] {
        EXPECT_EQ(State::kUninitialized, profiler::state());
        ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4096));
        ASSERT_EQ(Status::kOk, profiler::start());
        record(0x10000);
        EXPECT_EQ(1u, profiler::counters().samples);
        EXPECT_EQ(heap, profiler::register_heap("pool", 4));
      });
    });
  }
}

}  // namespace
}  // namespace memprof::ownership_test
