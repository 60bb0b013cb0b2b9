// SPDX-License-Identifier: Apache-2.0
#include "memprof/pressure/pressure_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
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

TEST_F(Pressures, TheNextMarkIsKnown) {
  EXPECT_EQ(PressureWatch::next_mark(0), 80);
  EXPECT_EQ(PressureWatch::next_mark(79.9), 80);
  EXPECT_EQ(PressureWatch::next_mark(80), 90);
  EXPECT_EQ(PressureWatch::next_mark(94), 95);
  EXPECT_EQ(PressureWatch::next_mark(95), 0);
}

TEST_F(Pressures, WithoutALimitThereIsNone) {
  write("/sys/fs/cgroup/web/memory.max", "max\n");
  EXPECT_EQ(at(999), 0);
  EXPECT_FALSE(watch_.fullest_percent());
}

TEST_F(Pressures, HowFullTheFullestIsIsKnown) {
  join(13, "/other");
  write("/sys/fs/cgroup/other/memory.max", "1000\n");
  write("/sys/fs/cgroup/other/memory.current", "700\n");
  write("/sys/fs/cgroup/web/memory.current", "300\n");
  EXPECT_TRUE(watch_.check({12, 13}).empty());
  EXPECT_EQ(watch_.fullest_percent(), 70);
  EXPECT_TRUE(watch_.check({12}).empty());
  EXPECT_TRUE(watch_.check({12}).empty());
  EXPECT_EQ(watch_.fullest_percent(), 30);
}

TEST_F(Pressures, FilesThatVanishOrAreNonsenseAreNoPressure) {
  EXPECT_EQ(at(850), 80);
  std::filesystem::remove_all(folder_.path("root/sys"));
  EXPECT_TRUE(watch_.check({12}).empty());
  write("/sys/fs/cgroup/web/memory.max", "banana\n");
  write("/sys/fs/cgroup/web/memory.current", "banana\n");
  EXPECT_TRUE(watch_.check({12}).empty());
  std::filesystem::remove_all(folder_.path("root"));
  EXPECT_TRUE(watch_.check({12}).empty());
  EXPECT_TRUE(watch_.check({12, 13}).empty());
}

// Percent of the last ten seconds in which processes waited for memory.
class Stalls : public Pressures {
 protected:
  Stalls() { write("/sys/fs/cgroup/web/cgroup.type", "domain\n"); }
  void stall(const std::string& some) const { stall_in("/sys/fs/cgroup/web/memory.pressure", some); }
  void stall_in(const std::string& path, const std::string& some) const {
    write(path, "some avg10=" + some + " avg60=0.00 avg300=0.00 total=1\n" +
                    "full avg10=1.50 avg60=0.00 avg300=0.00 total=1\n");
  }
  // Whether it is new.
  static bool is_told(PressureWatch& watch) {
    const std::vector<Pressure> found = watch.check({12});
    EXPECT_LE(found.size(), 1u);
    return !found.empty() && found[0].is_stalled;
  }
};

TEST_F(Stalls, AreToldOnceAndAgainAfterTheyEnded) {
  stall("14.99");
  PressureWatch watch(folder_.path("root"), std::chrono::seconds(15), std::chrono::seconds(0));
  EXPECT_FALSE(is_told(watch));
  stall("15.00");
  const std::vector<Pressure> found = watch.check({12});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_stalled);
  EXPECT_EQ(found[0].passed_percent, 0);
  EXPECT_EQ(found[0].pids, (std::set<uint64_t>{12}));
  ASSERT_TRUE(found[0].stall);
  EXPECT_EQ(found[0].stall->some, 15);
  EXPECT_EQ(found[0].stall->full, 1.5);
  stall("80.00");
  EXPECT_FALSE(is_told(watch));
  stall("6.00");
  EXPECT_FALSE(is_told(watch));
  stall("20.00");
  EXPECT_FALSE(is_told(watch)) << "it was never over";
  stall("4.99");
  EXPECT_FALSE(is_told(watch));
  stall("20.00");
  EXPECT_TRUE(is_told(watch));
}

TEST_F(Stalls, TheNextIsToldAfterAPauseOnly) {
  stall("20.00");
  PressureWatch watch(folder_.path("root"), std::chrono::seconds(15), std::chrono::hours(1));
  EXPECT_TRUE(is_told(watch));
  stall("0.00");
  EXPECT_FALSE(is_told(watch));
  stall("20.00");
  EXPECT_FALSE(is_told(watch));
}

TEST_F(Stalls, AreAFigureOfALookAtAMark) {
  stall("2.00");
  EXPECT_EQ(at(950), 95);
  const std::vector<Pressure> none = watch_.check({12});
  EXPECT_TRUE(none.empty());
  ASSERT_TRUE(watch_.longest_stall());
  EXPECT_EQ(watch_.longest_stall()->some, 2);
}

TEST_F(Stalls, OfTheMachineAreAFigureOnly) {
  stall_in("/proc/pressure/memory", "90.00");
  EXPECT_FALSE(is_told(watch_)) << "it may be anybody's";
  ASSERT_TRUE(watch_.longest_stall());
  EXPECT_TRUE(watch_.longest_stall()->is_of_machine);
  join(13, "/other");
  write("/sys/fs/cgroup/other/cgroup.type", "domain\n");
  stall_in("/sys/fs/cgroup/other/memory.pressure", "1.00");
  EXPECT_TRUE(watch_.check({12, 13}).empty());
  EXPECT_FALSE(watch_.longest_stall()->is_of_machine) << "a group's comes first";
  EXPECT_EQ(watch_.longest_stall()->some, 1);
}

TEST_F(Stalls, NonsenseInTheFileIsNone) {
  stall("20.00");
  PressureWatch watch(folder_.path("root"), std::chrono::seconds(15), std::chrono::seconds(0));
  EXPECT_TRUE(is_told(watch));
  write("/sys/fs/cgroup/web/memory.pressure", "banana");
  EXPECT_FALSE(is_told(watch));
  EXPECT_FALSE(watch.longest_stall());
}

}  // namespace
}  // namespace memprof::cli
