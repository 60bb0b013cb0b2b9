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

}  // namespace
}  // namespace memprof::cli
