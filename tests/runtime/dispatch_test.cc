// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtimes.h"

#include <gtest/gtest.h>

#include "core/reader/runtime_code.h"
#include "runtime/cpython/interpreter.h"
#include "runtime/cpython/runtime.h"
#include "runtime/runtime.h"
#include "tests/support/python_fixtures.h"

namespace memprof::runtimes {
namespace {

using testing_support::PythonFixture;

TEST(Attach, FindsPythonOnceItIsThere) {
  attach();
  EXPECT_EQ(nullptr, cpython::interpreter());
  const PythonFixture python;
  attach();
  EXPECT_NE(nullptr, cpython::interpreter());
}

TEST(Attach, FindsPythonWhenAStackRunsThroughIt) {
  const PythonFixture python;
  module_was_entered(reinterpret_cast<uint64_t>(&dlopen));
  EXPECT_EQ(nullptr, cpython::interpreter());
  module_was_entered(reinterpret_cast<uint64_t>(python.get<void>("fake_calloc")));
  EXPECT_NE(nullptr, cpython::interpreter());
}

TEST(Attach, ForgetsWhatIsUnloaded) {
  {
    const PythonFixture python;
    attach();
  }
  EXPECT_EQ(nullptr, cpython::interpreter());
}

TEST(Runtimes, OneThatLooksInEventsIsCalledDirectly) {
  ASSERT_EQ(nullptr, g_look.load());
  look_in_events(cpython::kRuntime, true);
  EXPECT_EQ(cpython::kRuntime.look, g_look.load());
  look_in_events(cpython::kRuntime, true);
  EXPECT_EQ(cpython::kRuntime.look, g_look.load());
  Runtime other = cpython::kRuntime;
  other.id = kMaxRuntimes;
  look_in_events(other, true);
  EXPECT_NE(cpython::kRuntime.look, g_look.load()) << "both are";
  EXPECT_NE(nullptr, g_look.load());
  look_in_event();
  look_in_events(other, false);
  EXPECT_EQ(cpython::kRuntime.look, g_look.load());
  look_in_events(cpython::kRuntime, false);
  EXPECT_EQ(nullptr, g_look.load());
}

// What this build does not know comes from profiles of other builds.
TEST(Runtimes, AnUnknownIdHasNothing) {
  EXPECT_STREQ("", name_of(kMaxRuntimes));
  EXPECT_EQ(nullptr, variable_of(kMaxRuntimes));
  EXPECT_STREQ("[unknown code]", unknown_code_name(kMaxRuntimes));
  const uint8_t lines[4] = {};
  EXPECT_EQ(0u, line_of(kMaxRuntimes, lines, sizeof(lines), 1, 0));
}

}  // namespace
}  // namespace memprof::runtimes
