// SPDX-License-Identifier: Apache-2.0
#include "platform/messages.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <string>

#include "tests/support/engine.h"

namespace memprof::posix_messages_test {
namespace {

using testing_support::in_child;

TEST(PosixMessages, AMessageIsALineWithoutControlCharacters) {
  ::testing::internal::CaptureStderr();
  const char* const parts[] = {"a.pb.gz", ": ", "no\x1b[31m space", nullptr};
  errno = 77;
  platform::message(parts);
  EXPECT_EQ(77, errno);
  EXPECT_EQ("memprof: a.pb.gz: no?[31m space\n", ::testing::internal::GetCapturedStderr());
}

TEST(PosixMessages, WhatTheProgramDoesWithASignalIsSeen) {
  in_child([] {
    EXPECT_EQ(platform::SignalUse::kOurs, platform::signal_use());  // none was asked for
    ASSERT_TRUE(platform::on_signal("USR2", [] {}));
    EXPECT_EQ(platform::SignalUse::kOurs, platform::signal_use());
    ::signal(SIGUSR2, SIG_IGN);
    EXPECT_EQ(platform::SignalUse::kIgnored, platform::signal_use());
    ::signal(SIGUSR2, [](int) {});
    EXPECT_EQ(platform::SignalUse::kPrograms, platform::signal_use());
  });
}

}  // namespace
}  // namespace memprof::posix_messages_test
