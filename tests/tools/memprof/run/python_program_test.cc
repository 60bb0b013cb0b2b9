// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/python_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "memprof/console/failure.h"
#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PythonProgram : public ::testing::Test {
 protected:
  PythonProgram() {
    unsetenv("MEMPROF_PYTHON_PROGRAM");
    chmod(interpreter_.c_str(), 0755);
  }
  ~PythonProgram() override { unsetenv("MEMPROF_PYTHON_PROGRAM"); }

  static std::string error_of(const std::vector<std::string>& command) {
    try {
      with_python(command);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "no error";
  }

  const testing_support::TemporaryFolder folder_;
  const std::string script_ = folder_.write("script.py", "print(1)\n");
  const std::string interpreter_ = folder_.write("python", "#!/bin/sh\n");
};

TEST_F(PythonProgram, OtherCommandsStayAsTheyAre) {
  EXPECT_THAT(with_python({"ls", "-m", "x.py"}), ElementsAre("ls", "-m", "x.py"));
  // No such file: it may be a program in PATH.
  EXPECT_THAT(with_python({"absent.py", "a"}), ElementsAre("absent.py", "a"));
  EXPECT_THAT(with_python({folder_.path("")}), ElementsAre(folder_.path("")));
}

TEST_F(PythonProgram, AScriptAndAModuleRunUnderPython3OfPath) {
  EXPECT_THAT(with_python({script_, "-m", "b"}), ElementsAre("python3", script_, "-m", "b"));
  EXPECT_THAT(with_python({"-m", "package.module", "b"}),
              ElementsAre("python3", "-m", "package.module", "b"));
}

TEST_F(PythonProgram, TheWheelsInterpreterComesFirst) {
  setenv("MEMPROF_PYTHON_PROGRAM", interpreter_.c_str(), 1);
  EXPECT_THAT(with_python({script_}), ElementsAre(interpreter_, script_));
  setenv("MEMPROF_PYTHON_PROGRAM", "", 1);
  EXPECT_THAT(with_python({script_}), ElementsAre("python3", script_));
}

TEST_F(PythonProgram, WhatIsWrongIsSaid) {
  EXPECT_THAT(error_of({"-m"}), HasSubstr("no module given"));
  setenv("MEMPROF_PYTHON_PROGRAM", "/nowhere/python3", 1);
  EXPECT_THAT(error_of({script_}),
              AllOf(HasSubstr(script_), HasSubstr("/nowhere/python3"), HasSubstr("MEMPROF_PYTHON_PROGRAM")));
  EXPECT_THAT(error_of({"-m", "pkg"}), AllOf(HasSubstr("-m pkg"), HasSubstr("/nowhere/python3")));
}

}  // namespace
}  // namespace memprof::cli
