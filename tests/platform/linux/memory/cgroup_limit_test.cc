// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/cgroup_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/folder.h"

namespace memprof::cgroup_limit_test {
namespace {

class CgroupLimit : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const { root_.write(path, text); }
  uint64_t limit(const std::string& groups) {
    return platform::cgroup_memory_limit(root_.write("groups", groups).c_str(), root_.path("").c_str());
  }
  testing_support::TemporaryFolder root_;
};

TEST_F(CgroupLimit, TheLeastOnTheWayUpHolds) {
  write("a/b/memory.max", "3000\n");
  write("a/memory.max", "2000\n");
  write("memory.max", "max\n");
  EXPECT_EQ(2000u, limit("0::/a/b\n"));
  EXPECT_EQ(2000u, limit("0::/a\n"));
  EXPECT_EQ(UINT64_MAX, limit("0::/\n"));
  EXPECT_EQ(2000u, limit("0::/a/b/c/"));  // a folder that is not there, as in a container
}

TEST_F(CgroupLimit, AContainerSeesItsOwnAsTheRoot) {
  write("memory.max", "536870912\n");
  EXPECT_EQ(536870912u, limit("0::/\n"));
  EXPECT_EQ(536870912u, limit("0::/../../system.slice/x\n"));
}

TEST_F(CgroupLimit, OfVersion1TheMemoryControllersCounts) {
  write("memory/x/memory.limit_in_bytes", "7000\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("cpu/x/memory.limit_in_bytes", "5\n");
  EXPECT_EQ(7000u, limit("5:cpu:/x\n4:memory:/x/y\n0::/\n"));
  EXPECT_EQ(7000u, limit("4:cpuacct,memory:/x\n"));
  EXPECT_EQ(UINT64_MAX, limit("4:memory:/z\n"));
  EXPECT_EQ(UINT64_MAX, limit("4:memoryx:/x\n"));
}

TEST_F(CgroupLimit, AnythingElseIsNoLimit) {
  write("memory.max", "not a number");
  for (const char* groups :
       {"", "\n", "0", "0:", "0::", "0::/", ":::::", "0::\n\n\n", "x:memory", "99999999999999999999::/"}) {
    EXPECT_EQ(UINT64_MAX, limit(groups)) << groups;
  }
  write("memory.max", "99999999999999999999999999");
  EXPECT_EQ(UINT64_MAX, limit("0::/"));
  write("memory.max", "");
  EXPECT_EQ(UINT64_MAX, limit("0::/"));
  write("memory.max", "0");
  EXPECT_EQ(0u, limit("0::/"));
  EXPECT_EQ(UINT64_MAX, platform::cgroup_memory_limit("/nonexistent/x", root_.path("").c_str()));
  EXPECT_EQ(0u, limit("0::/" + std::string(1900, 'a')));  // too long a path; those above it are looked at
}

}  // namespace
}  // namespace memprof::cgroup_limit_test
