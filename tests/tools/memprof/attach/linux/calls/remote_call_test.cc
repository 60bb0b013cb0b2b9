// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/calls/remote_call.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <utility>

#include "tests/tools/memprof/attach/linux/stopped_thread.h"

namespace memprof::cli {
namespace {

using testing_tools::StoppedThread;
using testing_tools::TargetProcess;

CallStep system_call(long number) {
  CallStep step;
  step.kind = CallStep::kSystemCall;
  step.function = static_cast<uint64_t>(number);
  return step;
}

TEST(RemoteCall, ExecutesAProgramAndPutsTheThreadBack) {
  NEEDS_PTRACE();
  TargetProcess process({"calculate"});
  for (int round = 0; round < 3; ++round) {
    StoppedThread stopped(process);
    RemoteCall remote(stopped.target, &stopped.thread, std::move(stopped.point));
    CallProgram program(remote.program_address(), remote.context_address());
    const size_t pid = program.add(system_call(SYS_getpid));
    const size_t parent = program.add(system_call(SYS_getppid));
    std::string results;
    remote.run(
        program, nullptr, [&](const std::string& image, const TargetMemory&) { results = image; }, nullptr);
    EXPECT_EQ(result_of(results, pid), static_cast<int64_t>(process.pid()));
    EXPECT_EQ(result_of(results, parent), getpid());
    EXPECT_GT(remote.pause_ns(), 0);
  }
  EXPECT_EQ(process.finish(), "ok");
}

TEST(RemoteCall, StepsThatFailAndStepsThatWait) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  RemoteCall remote(stopped.target, &stopped.thread, std::move(stopped.point));
  CallProgram program(remote.program_address(), remote.context_address());
  CallStep wait;
  wait.kind = CallStep::kAwait;
  const size_t waited = program.add(wait);
  CallStep close_bad = system_call(SYS_close);
  close_bad.arguments[0] = 9999;
  const size_t failing = program.add(close_bad);
  program.add(system_call(SYS_exit_group));  // left out
  const size_t last = program.add(system_call(SYS_getpid));
  program.on_failure(failing, CallStep::kIfNegative, last);
  int answers = 0;
  std::string results;
  remote.run(
      program,
      [&](const TargetMemory&) {
        ++answers;
        return 42u;
      },
      [&](const std::string& image, const TargetMemory&) { results = image; }, nullptr);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(result_of(results, waited), 42);
  EXPECT_EQ(result_of(results, failing), -EBADF);
  EXPECT_EQ(result_of(results, last), static_cast<int64_t>(process.pid()));
  EXPECT_EQ(process.finish(), "ok");
}

}  // namespace
}  // namespace memprof::cli
