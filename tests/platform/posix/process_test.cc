// SPDX-License-Identifier: Apache-2.0
#include "platform/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/engine.h"

namespace memprof::posix_process_test {
namespace {

using testing_support::in_child;

TEST(PosixProcess, AChildHasAnIdOfItsOwn) {
  const uint32_t own = platform::process_id();
  EXPECT_EQ(static_cast<uint32_t>(getpid()), own);
  in_child([own] {
    EXPECT_NE(own, platform::process_id());
    EXPECT_EQ(own, static_cast<uint32_t>(getppid()));
  });
}

TEST(PosixProcess, WhoHasTheRightsOfAnotherUserIsPrivileged) {
  EXPECT_FALSE(platform::is_privileged());
  if (getuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  in_child([] {
    ASSERT_EQ(0, setegid(4711));
    EXPECT_TRUE(platform::is_privileged());
    ASSERT_EQ(0, setegid(0));
    EXPECT_FALSE(platform::is_privileged());
    ASSERT_EQ(0, seteuid(4711));
    EXPECT_TRUE(platform::is_privileged());
    platform::yield_thread();
    platform::pause_thread();
  });
}

}  // namespace
}  // namespace memprof::posix_process_test
