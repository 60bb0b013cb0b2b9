// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "platform/process.h"
#include "tests/support/engine.h"

namespace memprof::environment_test {
namespace {

using testing_support::in_child;

TEST(Environment, ReadsTheEnvironment) {
  in_child([] {
    setenv("MEMPROF_TEST_VARIABLE", "value", 1);
    EXPECT_STREQ("value", platform::environment("MEMPROF_TEST_VARIABLE"));
    EXPECT_EQ(nullptr, platform::environment("MEMPROF_TEST_OTHER"));
    char** const kept = environ;
    environ = nullptr;  // as before the C library was initialised
    EXPECT_EQ(nullptr, platform::environment("PATH"));
    environ = kept;
  });
}

TEST(Environment, OursIsForgottenAndTheOthersStay) {
  in_child([] {
    setenv("MEMPROF_RATE", "64k", 1);
    setenv("MEMPROF", "not ours", 1);
    setenv("ANOTHER", "value", 1);
    setenv("MEMPROF_", "ours", 1);
    platform::forget_environment();
    EXPECT_EQ(nullptr, getenv("MEMPROF_RATE"));
    EXPECT_EQ(nullptr, getenv("MEMPROF_"));
    EXPECT_STREQ("not ours", getenv("MEMPROF"));
    EXPECT_STREQ("value", getenv("ANOTHER"));
    environ = nullptr;
    platform::forget_environment();
  });
}

}  // namespace
}  // namespace memprof::environment_test
