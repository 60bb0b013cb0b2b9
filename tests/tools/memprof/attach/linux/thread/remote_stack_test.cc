// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/remote_stack.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/memprof/attach/linux/stopped_thread.h"

namespace memprof::cli {
namespace {

using testing_tools::StoppedThread;
using testing_tools::TargetProcess;

TEST(RemoteStack, OfAWaitingThread) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  const uint64_t begin = processor::stack_pointer(stopped.point.registers);
  // Once with the stack given, once read word by word.
  for (const size_t bytes : {size_t{0}, size_t{8192}}) {
    std::vector<char> stack(bytes);
    stack.resize(stopped.point.memory.read_some(begin, stack.data(), stack.size()));
    const RemoteStack::Walk walk =
        stopped.walker.walk(stopped.thread.id(), stopped.point.registers, stopped.point.memory, stack, begin);
    EXPECT_TRUE(walk.is_complete);
    ASSERT_GE(walk.frames.size(), 5u);  // clock_nanosleep, nanosleep, wait_once, main, the start code
    EXPECT_EQ(walk.frames[0].address, processor::program_counter(stopped.point.registers));
    EXPECT_TRUE(std::is_sorted(walk.frames.begin(), walk.frames.end(), [](const auto& a, const auto& b) {
      return a.stack_pointer < b.stack_pointer;
    }));
    const auto& program = stopped.target.images.front();
    EXPECT_TRUE(std::any_of(walk.frames.begin(), walk.frames.end(),
                            [&](const auto& frame) { return program.code.front().contains(frame.address); }));
  }
}

TEST(RemoteStack, EndsWhereTheProgramBegan) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"}, "attached_bare_start");
  StoppedThread stopped(process);
  const uint64_t begin = processor::stack_pointer(stopped.point.registers);
  const auto walk = [&](RemoteStack& walker) {
    return walker.walk(stopped.thread.id(), stopped.point.registers, stopped.point.memory, {}, begin);
  };
  EXPECT_TRUE(walk(stopped.walker).is_complete);
  RemoteStack unaware(process.pid(), stopped.point.memory, stopped.target.images, {});
  EXPECT_FALSE(walk(unaware).is_complete) << "its tables do not say so";
  EXPECT_EQ(walk(unaware).frames.size(), walk(stopped.walker).frames.size());
}

TEST(RemoteStack, WithoutTables) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  StoppedThread stopped(process);
  RemoteStack nothing(process.pid(), stopped.point.memory, {}, {});
  const RemoteStack::Walk walk =
      nothing.walk(stopped.thread.id(), stopped.point.registers, stopped.point.memory, {}, {});
  EXPECT_FALSE(walk.is_complete);
}

}  // namespace
}  // namespace memprof::cli
