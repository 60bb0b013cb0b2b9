// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/group_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

class GroupMemory : public ::testing::Test {
 protected:
  // `path`: from the root of a system.
  void write(const std::string& path, const std::string& text) const { folder_.write("root" + path, text); }
  const testing_support::TemporaryFolder folder_;
  const std::string root_ = folder_.path("root");
};

TEST_F(GroupMemory, TheLeastOnTheWayUpHolds) {
  EXPECT_EQ(group_memory_limit(root_), UINT64_MAX);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(group_memory_limit(root_), UINT64_MAX);
  write("/sys/fs/cgroup/a/memory.max", "536870912\n");
  EXPECT_EQ(group_memory_limit(root_), 536870912u);
  write("/sys/fs/cgroup/a/b/memory.max", "1000\n");
  EXPECT_EQ(group_memory_limit(root_), 1000u);
}

TEST_F(GroupMemory, OfVersion1TheMemoryControllersCounts) {
  write("/proc/self/cgroup", "9:cpu:/x\nnonsense\n4:cpuacct,memory:/x/y\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "5\n");
  EXPECT_EQ(group_memory_limit(root_), UINT64_MAX);
  write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(group_memory_limit(root_), 7000u);
}

TEST_F(GroupMemory, KillsAreOfItsOwnGroupAndOfTheMachine) {
  EXPECT_FALSE(count_oom_kills(root_).in_group);
  EXPECT_FALSE(count_oom_kills(root_).on_machine);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/vmstat", "pgfault 12\noom_kill 9\ndrop_pagecache 0\n");
  EXPECT_FALSE(count_oom_kills(root_).in_group);
  EXPECT_EQ(count_oom_kills(root_).on_machine, 9u);
  write("/sys/fs/cgroup/a/memory.events", "low 0\nhigh 0\nmax 4\noom 3\noom_kill 5\noom_group_kill 0\n");
  EXPECT_EQ(count_oom_kills(root_).in_group, 5u) << "a container's own group, called otherwise on the host";
  write("/sys/fs/cgroup/a/b/memory.events", "oom_kill 2\n");
  EXPECT_EQ(count_oom_kills(root_).in_group, 2u);
}

TEST_F(GroupMemory, KillsOfVersion1) {
  write("/proc/self/cgroup", "9:cpu:/x\n4:memory:/x/y\n0::/\n");
  write("/sys/fs/cgroup/memory/x/y/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  EXPECT_EQ(count_oom_kills(root_).in_group, 7u);
  write("/sys/fs/cgroup/memory/x/y/memory.oom_control", "nonsense");
  EXPECT_FALSE(count_oom_kills(root_).in_group);
}

}  // namespace
}  // namespace memprof::cli
