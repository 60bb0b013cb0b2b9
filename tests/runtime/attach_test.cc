// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtimes.h"

#include <gtest/gtest.h>

#include "runtime/cpython/interpreter.h"
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

}  // namespace
}  // namespace memprof::runtimes
