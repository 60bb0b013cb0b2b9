// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/python/python_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::TargetProcess;

PythonRuntime find(const TargetProcess& target) {
  return find_python_runtime(target.pid(), "it", TargetMemory(target.pid(), TargetMemory::Access::kRead));
}

std::string refusal(const std::vector<std::string>& arguments, const std::string& program = "remote_python") {
  const TargetProcess target(arguments, program);
  try {
    static_cast<void>(find(target));
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "not refused";
}

TEST(PythonRuntime, HasAPlaceForAScript) {
  NEEDS_PTRACE();
  for (const char* version : {"030e00f0", "030e0af0", "030f02f0"}) {
    const TargetProcess target({version}, "remote_python");
    const PythonRuntime runtime = find(target);
    EXPECT_EQ(runtime.version, version[3] == 'e' ? "3.14" : "3.15");
    EXPECT_EQ(runtime.script_path_bytes, 512u);
    // As the fixture has them.
    EXPECT_EQ(runtime.pending_call, runtime.eval_breaker + 8);
    EXPECT_EQ(runtime.script_path, runtime.pending_call + 4);
  }
}

TEST(PythonRuntime, WhyThereIsNone) {
  NEEDS_PTRACE();
  EXPECT_THAT(refusal({"030d02f0"}), HasSubstr("before 3.14"));
  EXPECT_THAT(refusal({"031002f0"}), HasSubstr("Python 3.16"));
  EXPECT_THAT(refusal({"030e02f0", "disabled"}), HasSubstr("-X disable-remote-debug"));
  EXPECT_THAT(refusal({"malloc"}, "attached"), HasSubstr("is no CPython"));
}

}  // namespace
}  // namespace memprof::cli
