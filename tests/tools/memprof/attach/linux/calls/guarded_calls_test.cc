// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/calls/guarded_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <utility>

#include "tests/tools/memprof/attach/linux/stopped_thread.h"

namespace memprof::cli {
namespace {

using testing_tools::StoppedThread;
using testing_tools::TargetProcess;

TEST(GuardedCalls, ErrnoIsAsBefore) {
  NEEDS_PTRACE();
  TargetProcess process({"errno"});
  for (int round = 0; round < 20; ++round) {
    StoppedThread stopped(process);
    RemoteCall remote(stopped.target, &stopped.thread, std::move(stopped.point));
    GuardedCalls calls(stopped.target, remote);
    // Fails, and sets errno to what the program would notice.
    const size_t mapped = calls.function("mmap", 0, 0);
    int64_t result = 0;
    remote.run(
        calls.finish(), nullptr,
        [&](const std::string& image, const TargetMemory&) { result = result_of(image, mapped); }, nullptr);
    EXPECT_EQ(result, -1);
  }
  EXPECT_EQ(process.finish(), "ok");
}

TEST(GuardedCalls, ResultsAreArgumentsOfLaterSteps) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  RemoteCall remote(stopped.target, &stopped.thread, std::move(stopped.point));
  GuardedCalls calls(stopped.target, remote);
  const size_t self = calls.function("dlopen", 0, 1);
  const size_t found = calls.function_with_result("dlsym", self, calls.data(std::string("getpid") + '\0'));
  const size_t pid = calls.int_function_of_result(found, 0);
  const size_t missing = calls.function_with_result("dlsym", self, calls.data(std::string("no such") + '\0'));
  calls.may_fail(missing, CallStep::kIfZero);
  const size_t left_out = calls.system_call(SYS_exit_group, 0, 0);
  std::string results;
  remote.run(
      calls.finish(), nullptr, [&](const std::string& image, const TargetMemory&) { results = image; },
      nullptr);
  EXPECT_EQ(result_of(results, pid), static_cast<int64_t>(process.pid()));
  EXPECT_EQ(result_of(results, missing), 0);
  EXPECT_EQ(result_of(results, left_out), 0);
  EXPECT_EQ(process.finish(), "ok");
}

}  // namespace
}  // namespace memprof::cli
