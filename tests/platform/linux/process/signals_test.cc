// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <string>

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

TEST(Signals, AreFoundByNameAndNumber) {
  const struct {
    const char* name;
    int number;
  } kKnown[] = {{"USR2", SIGUSR2},   {"SIGUSR1", SIGUSR1},         {"12", 12},
                {"RTMIN", SIGRTMIN}, {"SIGRTMIN+3", SIGRTMIN + 3}, {"HUP", SIGHUP}};
  for (const auto& known : kKnown) {
    in_child([&] {
      ASSERT_TRUE(platform::on_signal(known.name, count_call)) << known.name;
      errno = 7;
      ::raise(known.number);
      EXPECT_EQ(7, errno);
      ::raise(known.number);
      EXPECT_EQ(2, g_calls) << known.name;
    });
  }
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

TEST(Signals, WhatIsNoneIsRefused) {
  in_child([] {
    for (const char* name : {"", "SIG", "usr2", "USR9", "0", "-1", "65", "999999999999", "KILL", "9", "STOP",
                             "RTMIN-1", "RTMIN+", "RTMIN+99", "USR2 "}) {
      EXPECT_FALSE(platform::on_signal(name, count_call)) << name;
    }
  });
}

}  // namespace
}  // namespace memprof::signals_test
