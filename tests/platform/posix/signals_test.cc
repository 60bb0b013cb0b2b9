// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "platform/messages.h"
#include "tests/support/engine.h"

namespace memprof::posix_signals_test {
namespace {

using testing_support::in_child;

std::atomic<int> g_calls{0};

void count_call() {
  ++g_calls;
  errno = EIO;
}

TEST(PosixSignals, AreFoundByNameAndNumber) {
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

TEST(PosixSignals, WhatIsNoneIsRefused) {
  in_child([] {
    for (const char* name : {"", "SIG", "usr2", "USR9", "0", "-1", "65", "999999999999", "KILL", "9", "STOP",
                             "RTMIN-1", "RTMIN+", "RTMIN+99", "USR2 "}) {
      EXPECT_FALSE(platform::on_signal(name, count_call)) << name;
    }
  });
}

}  // namespace
}  // namespace memprof::posix_signals_test
