// SPDX-License-Identifier: Apache-2.0
// The libraries of tests/runtime/cpython/fixtures.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "core/engine/runtimes.h"

namespace memprof::testing_support {

// Loaded as a plugin loads a libpython, unseen by dlsym; closed at the end as the hook of dlclose would.
class PythonFixture {
 public:
  explicit PythonFixture(const char* name = "fake_python")
      : handle_(dlopen((std::string(MEMPROF_PYTHON_FIXTURES) + "/" + name + ".so").c_str(),
                       RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(nullptr, handle_) << dlerror();
  }
  ~PythonFixture() {
    runtimes::before_unload();
    dlclose(handle_);
    runtimes::after_unload();
  }
  PythonFixture(const PythonFixture&) = delete;
  PythonFixture& operator=(const PythonFixture&) = delete;

  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* const handle_;
};

}  // namespace memprof::testing_support
