// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/runtime.h"

#include <gtest/gtest.h>

#include <cstring>

#include "memprof.h"
#include "tests/runtime/v8/fake_engine.h"
#include "tests/support/engine.h"

namespace memprof::v8::runtime_test {
namespace {

TEST(V8Runtime, IsInTheRegistryByItsId) {
  EXPECT_EQ(&kRuntime, runtimes::find_runtime(MEMPROF_RUNTIME_V8));
  EXPECT_STREQ("V8", memprof_runtime_name(MEMPROF_RUNTIME_V8));
  EXPECT_STREQ("MEMPROF_NODE", kRuntime.variable);
}

TEST(V8Runtime, IsNotThereWithoutV8) {
  EXPECT_FALSE(kRuntime.attach(true));
  EXPECT_FALSE(kRuntime.enter_module(reinterpret_cast<uint64_t>(&strlen), true));
  runtimes::RunningThread thread;
  EXPECT_FALSE(kRuntime.find_thread(&thread));
}

TEST(V8Runtime, FindsAThreadThatIsInAnIsolate) {
  testing_support::in_child([] {
    const fakes::FakeEngine engine;
    runtimes::RunningThread thread;
    EXPECT_TRUE(kRuntime.find_thread(&thread));
    EXPECT_EQ(&kRuntime, thread.runtime());
    fakes::g_state.isolate = nullptr;
    EXPECT_FALSE(kRuntime.find_thread(&thread));
  });
}

TEST(V8Runtime, AFramesPositionIsItsLine) {
  EXPECT_EQ(42u, kRuntime.line_at(nullptr, 0, 7, 42));
  EXPECT_EQ(0u, kRuntime.line_at(nullptr, 0, 7, 0));
}

}  // namespace
}  // namespace memprof::v8::runtime_test
