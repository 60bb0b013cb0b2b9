// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cerrno>

#include "platform/messages.h"
#include "tests/support/engine.h"

namespace memprof::signals_test {
namespace {

using testing_support::in_child;

std::atomic<int> g_calls{0};

void count_call() {
  ++g_calls;
  errno = EIO;
}

TEST(Signals, WhatTheProgramDoesWithThemIsSeen) {
  if (testing_support::kThreadSanitizer) {
    GTEST_SKIP() << "it puts a handler of its own before every other";
  }
  in_child([] {
    EXPECT_EQ(platform::SignalUse::kOurs, platform::signal_use());  // none was asked for
    ASSERT_TRUE(platform::on_signal("USR2", count_call));
    EXPECT_EQ(platform::SignalUse::kOurs, platform::signal_use());
    ::signal(SIGUSR2, SIG_DFL);
    EXPECT_EQ(platform::SignalUse::kDefault, platform::signal_use());
    ::signal(SIGUSR2, SIG_IGN);
    EXPECT_EQ(platform::SignalUse::kIgnored, platform::signal_use());
    ::signal(SIGUSR2, [](int) {});
    EXPECT_EQ(platform::SignalUse::kPrograms, platform::signal_use());
  });
}

}  // namespace
}  // namespace memprof::signals_test
