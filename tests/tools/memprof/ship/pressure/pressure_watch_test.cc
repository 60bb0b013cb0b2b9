// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/pressure/pressure_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

class Pressures : public ::testing::Test {
 protected:
  Pressures() {
    join(12, "/web");
    write("/sys/fs/cgroup/web/memory.max", "1000\n");
    kills(0);
  }
  void write(const std::string& path, const std::string& text) const { folder_.write("root" + path, text); }
  void join(uint64_t pid, const std::string& group) const {
    write("/proc/" + std::to_string(pid) + "/cgroup", "0::" + group + "\n");
  }
  void kills(int count) const {
    write("/sys/fs/cgroup/web/memory.events", "oom 9\noom_kill " + std::to_string(count) + "\n");
  }
  // The mark that is new at so much; 0: none.
  int at(int used) {
    write("/sys/fs/cgroup/web/memory.current", std::to_string(used) + "\n");
    const std::vector<Pressure> found = watch_.check({12});
    return found.empty() ? 0 : found[0].passed_percent;
  }

  const testing_support::TemporaryFolder folder_;
  PressureWatch watch_{folder_.path("root")};
};

TEST_F(Pressures, EachMarkIsToldOnceAndAgainAfterItWasLeft) {
  EXPECT_EQ(at(799), 0);
  EXPECT_EQ(at(800), 80);
  EXPECT_EQ(at(899), 0);
  EXPECT_EQ(at(790), 0);
  EXPECT_EQ(at(850), 0) << "it was never far below";
  EXPECT_EQ(at(960), 95) << "the highest of two";
  EXPECT_EQ(at(901), 0);
  EXPECT_EQ(at(899), 0);
  EXPECT_EQ(at(950), 95) << "it had been below 90 %";
  EXPECT_EQ(at(100), 0);
  EXPECT_EQ(at(900), 90);
}

TEST_F(Pressures, WhoIsInTheGroupIsNamedWithItsLimit) {
  join(13, "/web");
  join(14, "/other");
  write("/sys/fs/cgroup/web/memory.current", "850\n");
  const std::vector<Pressure> found = watch_.check({12, 13, 14, 15});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].group, "/web");
  EXPECT_EQ(found[0].pids, (std::set<uint64_t>{12, 13}));
  EXPECT_EQ(found[0].limit_bytes, 1000u);
  EXPECT_EQ(found[0].used_bytes, 850u);
  EXPECT_EQ(found[0].kills, 0u);
}

TEST_F(Pressures, AKillIsToldWithThoseThatHaveJustEnded) {
  EXPECT_EQ(at(100), 0);
  kills(2);
  const std::vector<Pressure> found = watch_.check({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kills, 2u);
  EXPECT_EQ(found[0].pids, (std::set<uint64_t>{12}));
  kills(3);
  EXPECT_TRUE(watch_.check({}).empty()) << "nobody in it is watched any more";
}

TEST_F(Pressures, KillsBeforeItWasWatchedAreNobodys) {
  kills(7);
  EXPECT_EQ(at(100), 0);
  EXPECT_TRUE(watch_.check({12}).empty());
}

TEST_F(Pressures, OfAProcessThatIsMovedTheNewGroupIsWatched) {
  join(12, "/login");
  PressureWatch watch(folder_.path("root"), std::chrono::seconds(0));
  EXPECT_TRUE(watch.check({12}).empty());
  join(12, "/web");
  write("/sys/fs/cgroup/web/memory.current", "850\n");
  EXPECT_TRUE(watch.check({12}).empty()) << "it is noticed behind a check";
  ASSERT_EQ(watch.check({12}).size(), 1u);
}

TEST_F(Pressures, WithoutALimitThereIsNone) {
  write("/sys/fs/cgroup/web/memory.max", "max\n");
  EXPECT_EQ(at(999), 0);
}

}  // namespace
}  // namespace memprof::cli
