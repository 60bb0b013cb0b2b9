// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/stacks.h"

#include <gtest/gtest.h>

#include "core/runtimes.h"
#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::cpython::stacks_test {
namespace {

using testing_support::in_child;
using testing_support::PythonFixture;

TEST(PythonStacks, WithoutAnInterpreterThereIsNoThread) {
  in_child([] {
    EXPECT_EQ(nullptr, running_thread().interpreter);
    EXPECT_EQ(StackState::kNone, stack_state());
  });
}

TEST(PythonStacks, AVersionThatIsNotKnownGivesNativeStacks) {
  in_child([] {
    PythonFixture python("old_python");
    runtimes::attach();
    ASSERT_NE(nullptr, interpreter());
    EXPECT_EQ(nullptr, running_thread().interpreter);
    EXPECT_EQ(StackState::kUnknownVersion, stack_state());
  });
}

TEST(PythonStacks, TurnedOffThereIsNone) {
  in_child([] {
    runtimes::configure({true});
    PythonFixture python;
    runtimes::attach();
    EXPECT_EQ(nullptr, running_thread().interpreter);
    EXPECT_EQ(StackState::kNone, stack_state());
  });
}

TEST(PythonStacks, NothingIsSettledBeforeThereIsAnInterpreter) {
  in_child([] {
    settle(true, false);
    EXPECT_EQ(StackState::kNone, stack_state()) << "nobody looked";
  });
}

}  // namespace
}  // namespace memprof::cpython::stacks_test
