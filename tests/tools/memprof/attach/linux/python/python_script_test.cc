// SPDX-License-Identifier: Apache-2.0
// What runs a script is in tests/e2e/attach_python_test.py.
#include "memprof/attach/linux/python/python_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::TargetProcess;

TEST(PythonScript, NoByteEndsATextEarly) {
  EXPECT_EQ(python_bytes(""), "bytes.fromhex('')");
  EXPECT_EQ(python_bytes({"'\n\0\xff", 4}), "bytes.fromhex('270a00ff')");
  EXPECT_EQ(python_path("a"), "os.fsdecode(bytes.fromhex('61'))");
}

TEST(PythonScript, OfWhoDoesNotRunItNothingIsLeft) {
  NEEDS_PTRACE();
  TargetProcess target({"030e00f0"}, "remote_python");
  std::string path;
  const auto body = [&](SharedFolder* folder) {
    path = folder->path();
    return std::string("    return 'x'\n");
  };
  for (int i = 0; i < 2; ++i) {
    try {
      run_python_script(target.pid(), "it", std::chrono::milliseconds(50), body);
      ADD_FAILURE() << "it runs no script";
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("ran no Python code"));
    }
    EXPECT_NE(path, "");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(target.finish(), "ok");
}

}  // namespace
}  // namespace memprof::cli
