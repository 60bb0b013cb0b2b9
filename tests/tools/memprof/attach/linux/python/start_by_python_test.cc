// SPDX-License-Identifier: Apache-2.0
// What starts and stops is in tests/e2e/attach_python_test.py.
#include "memprof/attach/python/start_by_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::TargetProcess;

std::string refusal(const std::function<AttachResult(uint64_t, const AttachOptions&)>& call, uint64_t pid) {
  AttachOptions options;
  options.library = testing_tools::fixture("stand_in.so");
  try {
    call(pid, options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "not refused";
}

TEST(StartByPython, WhatIsRefused) {
  NEEDS_PTRACE();
  const TargetProcess target({"malloc"});
  EXPECT_THAT(refusal(start_by_python, target.pid()), HasSubstr("is no CPython"));
  EXPECT_THAT(refusal(stop_by_python, target.pid()), HasSubstr("memprof is not loaded there"));
  for (const auto& call : {start_by_python, stop_by_python}) {
    EXPECT_THAT(refusal(call, static_cast<uint64_t>(getpid())), HasSubstr("is this command itself"));
    EXPECT_THAT(refusal(call, uint64_t{1} << 31), HasSubstr("does not exist"));
    EXPECT_THAT(refusal(call, 2), HasSubstr(access("/proc/2", F_OK) == 0 ? "process 2" : "does not exist"));
  }
}

}  // namespace
}  // namespace memprof::cli
