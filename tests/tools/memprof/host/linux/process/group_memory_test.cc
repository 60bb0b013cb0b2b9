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
  uint64_t limit() const { return ProcessGroup::of_this_process(root_).limit_bytes(); }
  OomKills kills() const { return ProcessGroup::of_this_process(root_).kills(); }
  const testing_support::TemporaryFolder folder_;
  const std::string root_ = folder_.path("root");
};

TEST_F(GroupMemory, TheLeastOnTheWayUpHolds) {
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/sys/fs/cgroup/a/memory.max", "536870912\n");
  EXPECT_EQ(limit(), 536870912u);
  write("/sys/fs/cgroup/a/b/memory.max", "1000\n");
  EXPECT_EQ(limit(), 1000u);
}

TEST_F(GroupMemory, OfVersion1TheMemoryControllersCounts) {
  write("/proc/self/cgroup", "9:cpu:/x\nnonsense\n4:cpuacct,memory:/x/y\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "5\n");
  EXPECT_EQ(limit(), UINT64_MAX);
  write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(limit(), 7000u);
}

TEST_F(GroupMemory, KillsAreOfItsOwnGroupAndOfTheMachine) {
  EXPECT_FALSE(kills().in_group);
  EXPECT_FALSE(kills().on_machine);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/vmstat", "pgfault 12\noom_kill 9\ndrop_pagecache 0\n");
  EXPECT_FALSE(kills().in_group);
  EXPECT_EQ(kills().on_machine, 9u);
  write("/sys/fs/cgroup/a/memory.events", "low 0\nhigh 0\nmax 4\noom 3\noom_kill 5\noom_group_kill 0\n");
  EXPECT_EQ(kills().in_group, 5u) << "a container's own group, called otherwise on the host";
  write("/sys/fs/cgroup/a/b/memory.events", "oom_kill 2\n");
  EXPECT_EQ(kills().in_group, 2u);
}

TEST_F(GroupMemory, KillsOfVersion1) {
  write("/proc/self/cgroup", "9:cpu:/x\n4:memory:/x/y\n0::/\n");
  write("/sys/fs/cgroup/memory/x/y/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  EXPECT_EQ(kills().in_group, 7u);
  write("/sys/fs/cgroup/memory/x/y/memory.oom_control", "nonsense");
  EXPECT_FALSE(kills().in_group);
}

TEST_F(GroupMemory, OfAnotherProcessWhatIsUsedIsOfTheFullestAroundIt) {
  EXPECT_EQ(ProcessGroup::of(12, root_).name(), "") << "it is gone";
  EXPECT_EQ(ProcessGroup::of(12, root_).use().percent(), 0);
  write("/proc/12/cgroup", "0::/pod/web\n");
  write("/sys/fs/cgroup/pod/web/memory.max", "1000\n");
  write("/sys/fs/cgroup/pod/web/memory.current", "700\n");
  write("/sys/fs/cgroup/pod/web/memory.events", "oom_kill 4\n");
  write("/sys/fs/cgroup/pod/memory.max", "2000\n");
  write("/sys/fs/cgroup/pod/memory.current", "1900\n");
  write("/sys/fs/cgroup/pod/memory.stat", "anon 3\ninactive_file 100\nactive_file 9\n");
  const ProcessGroup group = ProcessGroup::of(12, root_);
  EXPECT_EQ(group.name(), "/pod/web");
  EXPECT_EQ(group.use().limit_bytes, 2000u);
  EXPECT_EQ(group.use().used_bytes, 1800u) << "what the system drops by itself is no pressure";
  EXPECT_EQ(group.use().percent(), 90);
  EXPECT_EQ(group.use().kills.in_group, 4u);
  write("/proc/12/cgroup", "");
  write("/sys/fs/cgroup/pod/web/memory.events", "oom_kill 6\n");
  EXPECT_EQ(group.kills().since(ProcessGroup::of(13, root_).kills()), 0u) << "nothing is known of before";
  EXPECT_EQ(group.kills().in_group, 6u) << "the process is gone, the group is not";
}

TEST_F(GroupMemory, OfAGroupThatIsGoneThoseAroundItCountNothing) {
  write("/proc/12/cgroup", "0::/pod/web\n");
  write("/proc/vmstat", "oom_kill 9\n");
  write("/sys/fs/cgroup/pod/memory.events", "oom_kill 7\n");
  write("/sys/fs/cgroup/pod/web/memory.events", "oom_kill 0\n");
  const ProcessGroup group = ProcessGroup::of(12, root_);
  const OomKills before = group.kills();
  EXPECT_EQ(before.in_group, 0u);
  write("/sys/fs/cgroup/pod/web/memory.events", "");
  write("/proc/vmstat", "oom_kill 10\n");
  EXPECT_FALSE(group.kills().in_group) << "not the pod's 7";
  EXPECT_EQ(group.kills().since(before), 0u) << "the machine's may be anybody's";
}

TEST_F(GroupMemory, WhatIsUsedInVersion1) {
  write("/proc/12/cgroup", "4:memory:/x\n0::/y\n");
  write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n");
  write("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "900\n");
  write("/sys/fs/cgroup/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 400\n");
  const ProcessGroup group = ProcessGroup::of(12, root_);
  EXPECT_EQ(group.name(), "/x");
  EXPECT_EQ(group.use().percent(), 50);
}

TEST_F(GroupMemory, PagesOfFilesAreTakenOffOnlyWhereItIsNearlyFull) {
  write("/proc/12/cgroup", "0::/web\n");
  write("/sys/fs/cgroup/web/memory.max", "1000\n");
  write("/sys/fs/cgroup/web/memory.current", "799\n");
  write("/sys/fs/cgroup/web/memory.stat", "inactive_file 300\n");
  EXPECT_EQ(ProcessGroup::of(12, root_).use(80).used_bytes, 799u);
  EXPECT_EQ(ProcessGroup::of(12, root_).use().used_bytes, 499u);
  write("/sys/fs/cgroup/web/memory.current", "800\n");
  EXPECT_EQ(ProcessGroup::of(12, root_).use(80).used_bytes, 500u);
}

TEST_F(GroupMemory, StallsAreOfTheGroupWhereItHasThem) {
  constexpr char kNone[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
  EXPECT_FALSE(ProcessGroup::of(12, root_).stall());
  write("/proc/pressure/memory", "some avg10=7.00 avg60=0.00 avg300=0.00 total=0\n");
  write("/proc/12/cgroup", "0::/pod/web\n");
  write("/sys/fs/cgroup/memory.pressure", kNone);
  ASSERT_TRUE(ProcessGroup::of(12, root_).stall());
  EXPECT_EQ(ProcessGroup::of(12, root_).stall()->some, 7) << "the folder of all processes is the machine's";
  EXPECT_TRUE(ProcessGroup::of(12, root_).stall()->is_of_machine);
  write("/sys/fs/cgroup/pod/web/memory.pressure", "some avg10=9.00 avg60=0.00 avg300=0.00 total=0\n");
  write("/sys/fs/cgroup/pod/web/cgroup.type", "domain\n");
  const ProcessGroup group = ProcessGroup::of(12, root_);
  EXPECT_EQ(group.stall()->some, 9);
  EXPECT_FALSE(group.stall()->is_of_machine);
  write("/sys/fs/cgroup/pod/web/memory.pressure", "nonsense\n");
  EXPECT_FALSE(group.stall()) << "not the machine's in its place";
}

TEST_F(GroupMemory, BesideVersion1StallsAreInAFolderOfTheirOwn) {
  write("/proc/12/cgroup", "4:memory:/x\n0::/y\n");
  write("/sys/fs/cgroup/unified/cgroup.procs", "");
  write("/sys/fs/cgroup/unified/y/cgroup.type", "domain\n");
  write("/sys/fs/cgroup/unified/y/memory.pressure", "some avg10=3.00 avg60=0.00 avg300=0.00 total=0\n");
  const ProcessGroup group = ProcessGroup::of(12, root_);
  EXPECT_EQ(group.name(), "/x");
  ASSERT_TRUE(group.stall());
  EXPECT_EQ(group.stall()->some, 3);
}

TEST_F(GroupMemory, NonsenseIsNotKnown) {
  write("/proc/12/cgroup", "0::/web\n");
  write("/sys/fs/cgroup/web/memory.current", "-5\n");
  for (const char* limit : {"", "banana\n", "-1\n", "99999999999999999999999\n", "0\n"}) {
    write("/sys/fs/cgroup/web/memory.max", limit);
    EXPECT_EQ(ProcessGroup::of(12, root_).use().percent(), 0) << limit;
  }
  write("/sys/fs/cgroup/web/memory.max", "1000\n");
  EXPECT_EQ(ProcessGroup::of(12, root_).use().percent(), 0) << "-5 bytes";
  write("/sys/fs/cgroup/web/memory.current", "99999999999999999999999\n");
  EXPECT_EQ(ProcessGroup::of(12, root_).use().percent(), 0);
}

TEST_F(GroupMemory, KillsOfTheMachineCountWhereTheGroupHasNone) {
  OomKills before;
  OomKills after;
  EXPECT_EQ(after.since(before), 0u);
  before.on_machine = 5;
  after.on_machine = 7;
  EXPECT_EQ(after.since(before), 2u);
  before.in_group = 1;
  after.in_group = 1;
  EXPECT_EQ(after.since(before), 0u) << "they were in other groups";
}

}  // namespace
}  // namespace memprof::cli
