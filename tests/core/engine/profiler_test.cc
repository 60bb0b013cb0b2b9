// SPDX-License-Identifier: Apache-2.0
// The profiler is one a process and goes one way: each test runs in a child of its own.
#include "core/engine/profiler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "core/engine/recorder.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"
#include "tests/support/recorded.h"

namespace memprof::profiler_test {
namespace {

using namespace testing_support::recorded;
using testing_support::counters_of;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::run_threads;
using testing_support::scaled;

// ---- Life cycle

enum class Call { kInit, kStart, kStop, kShutdown };

Status call(Call c) {
  switch (c) {
    case Call::kInit:
      return profiler::initialize(kLimits, 4096);
    case Call::kStart:
      return profiler::start();
    case Call::kStop:
      return profiler::stop();
    case Call::kShutdown:
      return profiler::shutdown();
  }
  return Status::kWrongState;
}

struct Transition {
  Call call;
  Status status;
  State state;
};

// Every call in every state of the specification's life cycle (9.2).
TEST(Profiler, LifeCycle) {
  const struct {
    std::vector<Call> way;
    State state;
    Transition transitions[4];
  } table[] = {
      {{},
       State::kUninitialized,
       {{Call::kInit, Status::kOk, State::kInitialized},
        {Call::kStart, Status::kWrongState, State::kUninitialized},
        {Call::kStop, Status::kWrongState, State::kUninitialized},
        {Call::kShutdown, Status::kWrongState, State::kUninitialized}}},
      {{Call::kInit},
       State::kInitialized,
       {{Call::kInit, Status::kOk, State::kInitialized},
        {Call::kStart, Status::kOk, State::kActive},
        {Call::kStop, Status::kWrongState, State::kInitialized},
        {Call::kShutdown, Status::kOk, State::kTerminated}}},
      {{Call::kInit, Call::kStart},
       State::kActive,
       {{Call::kInit, Status::kOk, State::kActive},
        {Call::kStart, Status::kWrongState, State::kActive},
        {Call::kStop, Status::kOk, State::kStopped},
        {Call::kShutdown, Status::kOk, State::kTerminated}}},  // stops first
      {{Call::kInit, Call::kStart, Call::kStop},
       State::kStopped,
       {{Call::kInit, Status::kOk, State::kStopped},
        {Call::kStart, Status::kOk, State::kActive},
        {Call::kStop, Status::kWrongState, State::kStopped},
        {Call::kShutdown, Status::kOk, State::kTerminated}}},
      {{Call::kInit, Call::kStart, Call::kStop, Call::kStart},
       State::kActive,
       {{Call::kInit, Status::kOk, State::kActive},
        {Call::kStart, Status::kWrongState, State::kActive},
        {Call::kStop, Status::kOk, State::kStopped},
        {Call::kShutdown, Status::kOk, State::kTerminated}}},
      {{Call::kInit, Call::kShutdown},
       State::kTerminated,
       {{Call::kInit, Status::kWrongState, State::kTerminated},
        {Call::kStart, Status::kWrongState, State::kTerminated},
        {Call::kStop, Status::kWrongState, State::kTerminated},
        {Call::kShutdown, Status::kOk, State::kTerminated}}},
  };
  for (const auto& row : table) {
    for (const Transition& t : row.transitions) {
      in_child([&] {
        for (const Call c : row.way) {
          ASSERT_EQ(Status::kOk, call(c));
        }
        ASSERT_EQ(row.state, profiler::state());
        EXPECT_EQ(t.status, call(t.call)) << "call " << static_cast<int>(t.call);
        EXPECT_EQ(t.state, profiler::state()) << "call " << static_cast<int>(t.call);
        EXPECT_EQ(t.state, profiler::counters().state);
        EXPECT_EQ(t.state != State::kUninitialized, static_cast<bool>(profiler::arena()));
        if (profiler::arena()) {
          EXPECT_EQ(static_cast<uint32_t>(t.state), profiler::arena().header().state.load());
        }
      });
    }
  }
}

TEST(Profiler, NothingIsRecordedBeforeStartNorAfterStop) {
  in_child([] {
    record(0x10000);  // not even initialized
    hooked_free(block_at(0x10000));
    profiler::record_free(block_at(0x10000));
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4096));
    record(0x10000);
    ASSERT_EQ(Status::kOk, profiler::start());
    record(0x20000);
    ASSERT_EQ(Status::kOk, profiler::stop());
    record(0x30000);
    EXPECT_EQ(1u, profiler::counters().samples);
    EXPECT_EQ(1u, take_own()->records.size);
    ASSERT_EQ(Status::kOk, profiler::start());
    record(0x40000);
    EXPECT_EQ(2u, profiler::counters().samples);  // data accumulate
    EXPECT_EQ(2u, take_own()->records.size);
  });
}

TEST(Profiler, FreesAreFollowedAfterStopAndNotAfterShutdown) {
  in_child([] {
    start_at(4096);
    record(0x10000);
    record(0x20000);
    ASSERT_EQ(Status::kOk, profiler::stop());
    hooked_free(block_at(0x10000));
    EXPECT_EQ(1u, profiler::counters().freed_samples);
    EXPECT_EQ(1u, take_own()->records.size);
    ASSERT_EQ(Status::kOk, profiler::shutdown());
    hooked_free(block_at(0x20000));
    record(0x30000);
    EXPECT_EQ(1u, profiler::counters().freed_samples);
    const auto s = take_own();  // the data stay readable, as they were
    ASSERT_EQ(1u, s->records.size);
    EXPECT_EQ(0x20000u, s->records.data[0].address);
    EXPECT_EQ(2u, s->stacks.data[0].allocated.samples);
  });
}

TEST(Profiler, EightThreadsInitializeOnce) {
  in_child([] {
    std::mutex mutex;
    std::map<ArenaHeader*, int> arenas;
    run_threads(8, [&](int) {
      EXPECT_EQ(Status::kOk, profiler::initialize(kLimits, 4096));
      profiler::set_rate(4096);
      const std::lock_guard<std::mutex> lock(mutex);
      ++arenas[&profiler::arena().header()];
    });
    EXPECT_EQ(1u, arenas.size());
    EXPECT_EQ(State::kInitialized, profiler::state());
  });
}

// A stop, and a start that comes as soon as it can: then it is active, and that must be true.
TEST(Profiler, RacingControlsLeaveAStateThatIsTrue) {
  in_child([] {
    start_at(1);
    const uint64_t rounds = scaled(20000);
    std::atomic<uint64_t> stops{0};
    std::atomic<uint64_t> starts{0};
    uint64_t untrue = 0;
    run_threads(2, [&](int thread) {
      for (uint64_t round = 1; round <= rounds; ++round) {
        if (thread == 0) {
          EXPECT_EQ(Status::kOk, profiler::stop());
          stops = round;
          while (starts != round) {
            std::this_thread::yield();
          }
          continue;
        }
        for (int tries = 1; profiler::start() != Status::kOk; ++tries) {
          if (tries % 64 == 0) {  // a machine may have one processor for us
            std::this_thread::yield();
          }
        }
        while (stops != round) {  // both are through
          std::this_thread::yield();
        }
        const uint64_t before = profiler::counters().samples;
        record(0x10000, 64, 1);
        untrue += profiler::state() != State::kActive || profiler::counters().samples != before + 1 ||
                  counters_of(profiler::arena()).state != State::kActive;
        starts = round;
      }
    });
    EXPECT_EQ(0u, untrue);
  });
}

TEST(Profiler, RateIsThatOfNewDraws) {
  in_child([] {
    profiler::set_rate(1000);
    EXPECT_EQ(1000u, profiler::counters().rate_bytes);
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 2000));
    EXPECT_EQ(2000u, profiler::counters().rate_bytes);
    EXPECT_EQ(2000u, t_sampler.rate_bytes);  // the calling thread takes it up at once
    profiler::set_rate(3000);
    EXPECT_EQ(3000u, profiler::counters().rate_bytes);
    EXPECT_EQ(3000u, t_sampler.rate_bytes);
    EXPECT_EQ(3000u, take_own()->rate_bytes);
    ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 4000));  // does nothing
    EXPECT_EQ(3000u, profiler::counters().rate_bytes);
  });
}

}  // namespace
}  // namespace memprof::profiler_test
