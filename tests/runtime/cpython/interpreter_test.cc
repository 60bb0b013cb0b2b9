// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/interpreter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::cpython {
namespace {

using testing_support::PythonFixture;

void* of(const PythonFixture& python, const char* name) {
  return reinterpret_cast<void*>(python.get<void>(name));
}

TEST(Interpreter, IsNotThereInAProcessWithoutPython) {
  EXPECT_EQ(nullptr, find_interpreter());
  EXPECT_EQ(nullptr, interpreter());
  EXPECT_EQ(nullptr, find_interpreter_at(reinterpret_cast<uint64_t>(&malloc)));
  EXPECT_EQ(nullptr, find_interpreter_at(0));
}

TEST(Interpreter, IsFoundInALibraryOfLocalScope) {
  const PythonFixture python;
  ASSERT_EQ(nullptr, dlsym(RTLD_DEFAULT, "PyMem_SetAllocator"));
  const Interpreter* found = find_interpreter();
  ASSERT_NE(nullptr, found);
  EXPECT_EQ(found, interpreter());
  EXPECT_EQ(of(python, "PyMem_SetAllocator"), reinterpret_cast<void*>(found->set_allocator));
  EXPECT_EQ(of(python, "PyMem_GetAllocator"), reinterpret_cast<void*>(found->get_allocator));
  EXPECT_EQ(of(python, "_PyMem_GetCurrentAllocatorName"),
            reinterpret_cast<void*>(found->current_allocator_name));
  EXPECT_EQ(of(python, "Py_IsInitialized"), reinterpret_cast<void*>(found->is_initialized));
  EXPECT_EQ(of(python, "_Py_IsFinalizing"), reinterpret_cast<void*>(found->is_finalizing));
  EXPECT_EQ(of(python, "PyGILState_GetThisThreadState"),
            reinterpret_cast<void*>(found->gil_state_thread_state));
  EXPECT_EQ(of(python, "_PyThreadState_UncheckedGet"),
            reinterpret_cast<void*>(found->unchecked_thread_state));
  EXPECT_EQ(of(python, "_PyRuntime"), found->runtime);
  EXPECT_EQ(of(python, "PyCode_Type"), found->code_type);
  EXPECT_EQ(of(python, "PyUnicode_Type"), found->unicode_type);
  EXPECT_EQ(of(python, "PyBytes_Type"), found->bytes_type);
  EXPECT_EQ(nullptr, found->evaluation_loop);  // the fixture has none
  EXPECT_EQ(0x030c01f0u, found->version);
  EXPECT_TRUE(found->is_at_least(3, 12));
  EXPECT_FALSE(found->is_at_least(3, 13));
}

TEST(Interpreter, IsFoundByAnAddressInItsModule) {
  const PythonFixture python;
  EXPECT_EQ(nullptr, find_interpreter_at(reinterpret_cast<uint64_t>(&malloc)));
  const Interpreter* found = find_interpreter_at(reinterpret_cast<uint64_t>(of(python, "fake_malloc")));
  ASSERT_NE(nullptr, found);
  EXPECT_EQ(of(python, "PyMem_SetAllocator"), reinterpret_cast<void*>(found->set_allocator));
  EXPECT_EQ(found, find_interpreter());
}

TEST(Interpreter, OfAnOldVersionHasNone) {
  const PythonFixture python("old_python");
  const Interpreter* found = find_interpreter();
  ASSERT_NE(nullptr, found);
  EXPECT_EQ(of(python, "PyMem_SetAllocator"), reinterpret_cast<void*>(found->set_allocator));
  EXPECT_EQ(0u, found->version);
  EXPECT_EQ(nullptr, found->runtime);
  EXPECT_EQ(nullptr, found->current_allocator_name);
}

TEST(Interpreter, IsNotThereWhileSomethingIsUnloaded) {
  const PythonFixture python;
  const Interpreter* found = find_interpreter();
  ASSERT_NE(nullptr, found);
  suspend_interpreter();
  suspend_interpreter();
  EXPECT_EQ(nullptr, interpreter());
  resume_interpreter();
  EXPECT_EQ(nullptr, interpreter());
  resume_interpreter();
  EXPECT_EQ(found, interpreter());
}

TEST(Interpreter, IsGoneWithItsModuleAndFoundAgain) {
  {
    const PythonFixture python;
    ASSERT_NE(nullptr, find_interpreter());
  }
  EXPECT_EQ(nullptr, interpreter());
  EXPECT_EQ(nullptr, find_interpreter());
  // More often than there are entries: the address is the same; under ThreadSanitizer each load has another.
  const int loads = testing_support::kThreadSanitizer ? 10 : 50;
  for (int i = 0; i < loads; ++i) {
    const PythonFixture python;
    ASSERT_NE(nullptr, find_interpreter()) << i;
    EXPECT_EQ(of(python, "_PyRuntime"), interpreter()->runtime);
  }
}

// Whoever is last makes it visible: no order of suspensions and finds may leave it hidden, or shown while
// something is being unloaded.
TEST(Interpreter, ComesBackWhateverThreadsDo) {
  const PythonFixture python;
  std::atomic<bool> stop{false};
  std::thread finder([&] {
    while (!stop) {
      find_interpreter();
    }
  });
  std::thread other([&] {
    while (!stop) {
      suspend_interpreter();
      resume_interpreter();
    }
  });
  for (int i = 0; i < 20000; ++i) {
    suspend_interpreter();
    resume_interpreter();
  }
  stop = true;
  finder.join();
  other.join();
  EXPECT_NE(nullptr, find_interpreter());
  EXPECT_NE(nullptr, interpreter());
}

}  // namespace
}  // namespace memprof::cpython
