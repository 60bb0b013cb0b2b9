// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/oom_kill.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

RunOutput output(uint64_t pid, uint64_t resident_bytes, bool has_ended = false) {
  RunOutput one;
  one.process.program = "app";
  one.process.pid = pid;
  one.process.own_max_resident_bytes = resident_bytes;
  one.process.has_ended = has_ended;
  return one;
}

constexpr uint64_t kStarted = 10;
constexpr uint64_t kLimit = uint64_t{512} << 20;

// The process ids of those that are said to be killed.
std::vector<uint64_t> killed(std::vector<RunOutput> outputs, uint64_t kills, bool started_was_killed) {
  mark_oom_killed(&outputs, kills, kLimit, kStarted, started_was_killed);
  std::vector<uint64_t> pids;
  for (const RunOutput& one : outputs) {
    EXPECT_EQ(one.memory_limit_bytes, one.is_oom_killed ? kLimit : 0);
    if (one.is_oom_killed) pids.push_back(one.process.pid);
  }
  return pids;
}

using Pids = std::vector<uint64_t>;

TEST(OomKill, IsOfWhatDidNotEndByItself) {
  EXPECT_EQ(killed({output(kStarted, 100)}, 1, true), Pids{kStarted});
  EXPECT_EQ(killed({output(kStarted, 100)}, 0, true), Pids{}) << "somebody else's kill -9";
  EXPECT_EQ(killed({output(kStarted, 100)}, 1, false), Pids{}) << "it became another program";
  EXPECT_EQ(killed({output(kStarted, 100, true), output(11, 50)}, 1, false), Pids{11});
  RunOutput running = output(11, 50);
  running.process.still_runs = true;
  EXPECT_EQ(killed({output(kStarted, 100, true), running}, 1, false), Pids{});
}

TEST(OomKill, TheLargestAreKilled) {
  EXPECT_EQ(killed({output(kStarted, 10), output(11, 300), output(12, 200), output(13, 100)}, 2, true),
            (Pids{11, 12}));
  RunOutput first = output(kStarted, 10);
  first.process.max_resident_bytes = 1000;  // as the system counted it
  EXPECT_EQ(killed({first, output(11, 300)}, 1, true), Pids{kStarted});
}

class OomWatchTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const { folder_.write("root" + path, text); }
  const testing_support::TemporaryFolder folder_;
  const std::string root_ = folder_.path("root");
};

TEST_F(OomWatchTest, CountsKillsOfTheGroupSinceItBegan) {
  write("/proc/self/cgroup", "0::/a\n");
  write("/proc/vmstat", "oom_kill 100\n");
  write("/sys/fs/cgroup/a/memory.max", "536870912\n");
  write("/sys/fs/cgroup/a/memory.events", "oom_kill 5\n");
  const OomWatch watch(root_);
  EXPECT_EQ(watch.limit_bytes(), kLimit);
  EXPECT_EQ(watch.kills(), 0u);
  write("/proc/vmstat", "oom_kill 103\n");
  EXPECT_EQ(watch.kills(), 0u) << "others on the machine";
  write("/sys/fs/cgroup/a/memory.events", "oom_kill 7\n");
  EXPECT_EQ(watch.kills(), 2u);
}

TEST_F(OomWatchTest, WhereTheGroupHasNoCountItIsTheMachines) {
  write("/proc/self/cgroup", "0::/\n");
  write("/proc/vmstat", "oom_kill 100\n");
  const OomWatch watch(root_);
  EXPECT_EQ(watch.limit_bytes(), 0u);
  write("/proc/vmstat", "oom_kill 101\n");
  EXPECT_EQ(watch.kills(), 1u);
  write("/proc/vmstat", "oom_kill 3\n");
  EXPECT_EQ(watch.kills(), 0u);
}

TEST_F(OomWatchTest, WhereNothingIsKnownNobodyWasKilled) {
  EXPECT_EQ(OomWatch(root_).kills(), 0u);
}

TEST(OomKillLine, WithoutAProfileItIsShort) {
  RunOutput one = output(12, 100);
  one.path = "/no/such.pb.gz";
  one.is_oom_killed = true;
  EXPECT_EQ(oom_kill_line(one), "app (pid 12) was killed by the OOM killer");
  one.memory_limit_bytes = kLimit;
  EXPECT_EQ(oom_kill_line(one),
            "app (pid 12) was killed by the OOM killer at the memory limit of its group, 512.0 MiB");
}

}  // namespace
}  // namespace memprof::cli
