// SPDX-License-Identifier: Apache-2.0
#include "platform/process.h"

#include <gtest/gtest.h>

#include <string>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

TEST(WindowsProcess, IsToldByIdAndStart) {
  EXPECT_EQ(process_id(), GetCurrentProcessId());
  EXPECT_EQ(thread_id(), GetCurrentThreadId());
  EXPECT_NE(process_start(), 0u);
  EXPECT_EQ(process_start(), process_start());
  EXPECT_GE(start_of_new_process(), process_start());
}

TEST(WindowsProcess, PathAndArguments) {
  const std::string path = program_path();
  EXPECT_EQ(path.substr(path.rfind('/')), "/memprof_windows_tests.exe");
  char text[4096];
  const size_t bytes = program_arguments(text, sizeof(text));
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(text[bytes - 1], '\0');
  EXPECT_NE(std::string(text).find("memprof_windows_tests"), std::string::npos);
  EXPECT_LE(program_arguments(text, 10), 10u);
}

TEST(WindowsProcess, OnlyOurVariablesAreKept) {
  EXPECT_EQ(environment("PATH"), nullptr);
  EXPECT_EQ(environment("MEMPROF_NOT_SET"), nullptr);
  EXPECT_NE(std::string(arena_folder()), "");
}

}  // namespace
}  // namespace memprof::platform
