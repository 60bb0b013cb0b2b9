// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/runtime.h"

#include <gtest/gtest.h>

#include "core/engine/runtimes.h"
#include "core/reader/runtime_code.h"
#include "memprof.h"
#include "runtime/cpython/stacks.h"
#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::cpython::runtime_test {
namespace {

using testing_support::in_child;
using testing_support::PythonFixture;

TEST(PythonRuntime, IsWhatMemprofHSaysOfIt) {
  EXPECT_EQ(uint32_t{MEMPROF_RUNTIME_CPYTHON}, kRuntime.id);
  EXPECT_STREQ("MEMPROF_PYTHON", runtimes::variable_of(MEMPROF_RUNTIME_CPYTHON));
  EXPECT_STREQ("CPython", runtimes::name_of(MEMPROF_RUNTIME_CPYTHON));
  EXPECT_EQ(MEMPROF_OBJECTS_HOOKED, static_cast<int>(MEMPROF_PYTHON_HOOKED));
  EXPECT_EQ(MEMPROF_OBJECTS_BY_MALLOC, static_cast<int>(MEMPROF_PYTHON_BY_MALLOC));
  EXPECT_EQ(MEMPROF_OBJECTS_REFUSED, static_cast<int>(MEMPROF_PYTHON_REFUSED));
  EXPECT_EQ(MEMPROF_STACKS_UNCHECKED, static_cast<int>(MEMPROF_PYTHON_STACKS_UNCHECKED));
  EXPECT_EQ(MEMPROF_STACKS_READ, static_cast<int>(MEMPROF_PYTHON_STACKS_READ));
  EXPECT_EQ(MEMPROF_STACKS_UNKNOWN_VERSION, static_cast<int>(MEMPROF_PYTHON_STACKS_UNKNOWN_VERSION));
  EXPECT_EQ(MEMPROF_STACKS_UNKNOWN_LAYOUT, static_cast<int>(MEMPROF_PYTHON_STACKS_UNKNOWN_LAYOUT));
}

TEST(PythonRuntime, AThreadIsAskedForOnceAPythonIsThere) {
  in_child([] {
    runtimes::RunningThread thread;
    runtimes::g_find_thread = nullptr;  // of a test before
    EXPECT_FALSE(runtimes::find_running_thread(&thread));
    PythonFixture python;
    EXPECT_FALSE(runtimes::find_running_thread(&thread)) << "nobody looked for it";
    runtimes::attach();
    EXPECT_FALSE(runtimes::find_running_thread(&thread)) << "a thread that Python does not know";
    static uint64_t state[64];
    *python.get<void*>("fake_gil_state") = state;
    ASSERT_TRUE(runtimes::find_running_thread(&thread));
    EXPECT_EQ(&kRuntime, thread.runtime());
    EXPECT_EQ(reinterpret_cast<uint64_t>(state), thread.own<RunningThread>().state);
  });
}

}  // namespace
}  // namespace memprof::cpython::runtime_test
