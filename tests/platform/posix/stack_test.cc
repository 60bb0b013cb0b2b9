// SPDX-License-Identifier: Apache-2.0
#include "platform/stack.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/engine.h"

namespace memprof::posix_stack_test {
namespace {

using testing_support::in_child;

alignas(16) char g_stack[1 << 16];
bool g_is_on_signal_stack = false;

TEST(PosixStack, AHandlerIsOnTheStackThatWasAskedFor) {
  in_child([] {
    stack_t stack{};
    stack.ss_sp = g_stack;
    stack.ss_size = sizeof(g_stack);
    ASSERT_EQ(0, sigaltstack(&stack, nullptr));
    EXPECT_FALSE(platform::is_on_signal_stack());
    struct sigaction action{};
    action.sa_handler = [](int) { g_is_on_signal_stack = platform::is_on_signal_stack(); };
    for (const int flags : {SA_ONSTACK, 0}) {
      action.sa_flags = flags;
      ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
      ASSERT_EQ(0, ::raise(SIGUSR1));
      EXPECT_EQ(flags != 0, g_is_on_signal_stack);
    }
  });
}

}  // namespace
}  // namespace memprof::posix_stack_test
