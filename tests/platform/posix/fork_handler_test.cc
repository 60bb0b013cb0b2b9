// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/fork_handler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <set>

#include "core/engine/profiler.h"
#include "core/sampling/sampler.h"
#include "tests/support/engine.h"

namespace memprof::posix_fork_handler_test {
namespace {

using testing_support::in_child;

// Lesson 20: forked workers, and the workers of a forked daemon, do not sample in lockstep.
TEST(ForkHandler, Lesson20EveryForkGetsAClockOfItsOwn) {
  in_child([] {
    profiler::adopt_process();
    platform::watch_forks();
    sampler_redraw();
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    const uint64_t own = t_sampler.count;
    const pid_t daemon = fork();
    if (daemon == 0) {
      for (int i = 0; i < 8; ++i) {
        const pid_t worker = fork();
        if (worker == 0) {
          _exit(write(ends[1], &t_sampler, sizeof(t_sampler)) == sizeof(t_sampler) ? 0 : 1);
        }
        waitpid(worker, nullptr, 0);
      }
      _exit(write(ends[1], &t_sampler, sizeof(t_sampler)) == sizeof(t_sampler) ? 0 : 1);
    }
    waitpid(daemon, nullptr, 0);
    std::set<uint64_t> counts{own};
    std::set<uint64_t> states{t_sampler.random[0]};
    for (int i = 0; i < 9; ++i) {
      ThreadSampler child{};
      ASSERT_EQ(ssize_t{sizeof(child)}, read(ends[0], &child, sizeof(child)));
      counts.insert(child.count);
      states.insert(child.random[0]);
    }
    EXPECT_EQ(10u, states.size());
    EXPECT_GE(counts.size(), 9u);  // two of ten draws around 512 Ki are the same in one run of 10,000
  });
}

TEST(ForkHandler, AForkInAMutedScopeDoesNotUnmute) {
  in_child([] {
    profiler::adopt_process();
    platform::watch_forks();
    sampler_redraw();
    const MuteScope mute;
    const pid_t pid = fork();
    if (pid == 0) {
      _exit(sampler_tick(1 << 30) ? 1 : 0);
    }
    int status = 1;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
  });
}

TEST(ForkHandler, WhatAChildGivesBackItGivesBackOnce) {
  in_child([] {
    static platform::OwnerPage page;
    static int calls = 0;
    platform::g_owner_page = &page;
    platform::reset_engine_in_child([] { ++calls; });
    platform::reset_engine_in_child([] { ++calls; });
    EXPECT_EQ(1, calls);
    page.reset = 0;  // a child of the child
    platform::reset_engine_in_child([] { ++calls; });
    EXPECT_EQ(2, calls);
    platform::reset_engine_in_child(nullptr);
  });
}

// As of a system that cannot do it itself.
TEST(ForkHandler, TheOwnerPageIsEmptyInAChild) {
  in_child([] {
    static platform::OwnerPage page;
    page.mark = 12345;
    page.claim = 1;
    platform::g_owner_page = &page;
    platform::watch_forks();
    in_child([] {
      EXPECT_EQ(0u, page.mark);
      EXPECT_EQ(0u, page.claim);
    });
    EXPECT_EQ(12345u, page.mark);
  });
}

}  // namespace
}  // namespace memprof::posix_fork_handler_test
