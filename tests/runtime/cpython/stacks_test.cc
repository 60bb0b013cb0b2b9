// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/stacks.h"

#include <gtest/gtest.h>

#include "core/engine/runtimes.h"
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
    runtimes::configure({{runtimes::Use::kNothing}});
    PythonFixture python;
    runtimes::attach();
    EXPECT_EQ(nullptr, running_thread().interpreter);
    EXPECT_EQ(StackState::kNone, stack_state());
  });
}

// A thread that gave up the GIL has a state that the end of the interpreter frees.
TEST(PythonStacks, AStateThatIsNotAttachedCountsOnlyWhileTheInterpreterLives) {
  in_child([] {
    PythonFixture python;
    runtimes::attach();
    static uint64_t state[64];
    EXPECT_EQ(nullptr, running_thread().interpreter) << "a thread that Python does not know";
    *python.get<void*>("fake_gil_state") = state;
    const RunningThread away = running_thread();
    ASSERT_NE(nullptr, away.interpreter);
    EXPECT_FALSE(away.is_attached);
    EXPECT_EQ(reinterpret_cast<uint64_t>(state), away.state);
    EXPECT_FALSE(may_be_gone(away));
    python.get<void(int)>("fake_take_part")(1);
    const RunningThread inside = running_thread();
    ASSERT_NE(nullptr, inside.interpreter);
    EXPECT_TRUE(inside.is_attached);
    EXPECT_NE(away.state, inside.state);

    *python.get<int>("fake_is_finalizing") = 1;
    EXPECT_TRUE(may_be_gone(away));
    EXPECT_FALSE(may_be_gone(inside)) << "it runs what is left to do at the end";
    EXPECT_EQ(inside.state, running_thread().state);
    python.get<void(int)>("fake_take_part")(0);
    EXPECT_EQ(nullptr, running_thread().interpreter);
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
