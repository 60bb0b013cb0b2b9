// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/group_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

class GroupMemory : public ::testing::Test {
 protected:
  GroupMemory() {
    char name[] = "/tmp/memprof-group-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~GroupMemory() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
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
