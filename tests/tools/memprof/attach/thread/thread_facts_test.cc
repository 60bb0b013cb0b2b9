// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/thread/thread_facts.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/attach/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

TEST(ThreadFacts, OfThisThread) {
  const auto process = static_cast<uint64_t>(getpid());
  EXPECT_EQ(state_of(process, getpid()).letter, 'R');
  EXPECT_TRUE(state_of(process, getpid()).is_under_way());
  EXPECT_FALSE(state_of(process, getpid()).executes_nothing());
  EXPECT_GT(used_ns(process, getpid()), 0u);
}

TEST(ThreadFacts, AllThreadsOfAProcess) {
  TargetProcess target({"nanosleep"});
  EXPECT_EQ(threads_of(target.pid()).size(), 2u);  // one reads
  EXPECT_EQ(target.finish(), "ok");
}

TEST(ThreadFacts, OfWhoIsGone) {
  EXPECT_TRUE(threads_of(0).empty());
  EXPECT_EQ(used_ns(0, 1), 0u);
  EXPECT_TRUE(state_of(0, 1).executes_nothing());
  EXPECT_FALSE(state_of(0, 1).is_under_way());
}

}  // namespace
}  // namespace memprof::cli
