// SPDX-License-Identifier: Apache-2.0
// In a real group, with real programs: tests/e2e/oom_test.py.
#include "memprof/run/pressure/pressure_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "profile/pprof/pprof_reader.h"
#include "tests/support/folder.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

class PressureLooksTest : public ::testing::Test {
 protected:
  PressureLooksTest() {
    write("/proc/12/cgroup", "0::/web\n");
    write("/sys/fs/cgroup/web/memory.max", "1000000\n");
    use(0);
  }
  void write(const std::string& path, const std::string& text) const { folder_.write("root" + path, text); }
  void use(int thousands) const {
    write("/sys/fs/cgroup/web/memory.current", std::to_string(thousands * 1000) + "\n");
  }
  PressureChoice choice() {
    PressureChoice choice;
    choice.take = [this] {
      ++looks_;
      RunLook look;
      for (size_t i = 0; i < processes_; ++i) {
        look.profiles.push_back(testing_tools::small_profile());
        look.profiles.back().pid += i;
        look.pids.push_back(12 + i);
      }
      return look;
    };
    choice.pid = 12;
    choice.output = folder_.path("out.pb.gz");
    return choice;
  }
  // What is said by a check at so much.
  std::string at(PressureLooks& looks, int thousands) const {
    use(thousands);
    testing::internal::CaptureStderr();
    looks.check();
    return testing::internal::GetCapturedStderr();
  }

  const testing_support::TemporaryFolder folder_;
  const std::string root_ = folder_.path("root");
  size_t processes_ = 1;
  int looks_ = 0;
};

TEST_F(PressureLooksTest, AMarkIsAFileAndALine) {
  PressureLooks looks(choice(), root_);
  EXPECT_EQ(at(looks, 790), "");
  EXPECT_THAT(looks.finish(), "") << "nothing is there";
  const std::string path = folder_.path("out.pressure/at-80-percent.pb.gz");
  EXPECT_EQ(
      at(looks, 810),
      "memprof: server: its group uses 791.0 KiB of the 976.6 KiB that it may have (80 %); insert(int) holds 100 % of "
      "300 B; memprof report " +
          path + "\n");
  const profile::Profile profile = profile::read_pprof_file(path);
  EXPECT_EQ(profile.pressure_percent, 80u);
  EXPECT_EQ(profile.memory_used_bytes, 810'000u);
  EXPECT_EQ(profile.memory_limit_bytes, 1'000'000u);
  EXPECT_EQ(profile.pid, 4711u);
  EXPECT_EQ(at(looks, 850), "");
  EXPECT_THAT(at(looks, 951), HasSubstr("(95 %)"));
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(looks.finish(), folder_.path("out.pressure/at-95-percent.pb.gz"));
}

TEST_F(PressureLooksTest, AMarkThatIsPassedAgainSoonIsNoLook) {
  PressureLooks looks(choice(), root_);
  EXPECT_NE(at(looks, 810), "");
  EXPECT_EQ(at(looks, 100), "");
  EXPECT_EQ(at(looks, 810), "");
  EXPECT_EQ(looks_, 1);
}

TEST_F(PressureLooksTest, WhatWasFullBeforeIsNotTheProgramsDoing) {
  use(960);
  PressureLooks looks(choice(), root_);
  EXPECT_EQ(at(looks, 960), "");
  EXPECT_EQ(at(looks, 100), "");
  EXPECT_THAT(at(looks, 960), HasSubstr("(95 %)"));
}

TEST_F(PressureLooksTest, SeveralProcessesAreOneProfile) {
  processes_ = 3;
  PressureLooks looks(choice(), root_);
  EXPECT_THAT(at(looks, 900), HasSubstr("insert(int) holds 100 % of 900 B"));
  const profile::Profile profile = profile::read_pprof_file(folder_.path("out.pressure/at-90-percent.pb.gz"));
  EXPECT_EQ(profile.pressure_percent, 90u);
  EXPECT_EQ(profile.samples, 9u);
}

TEST_F(PressureLooksTest, WithoutAProcessThatHasMemprofThereIsNone) {
  processes_ = 0;
  PressureLooks looks(choice(), root_);
  EXPECT_EQ(at(looks, 960), "");
  EXPECT_EQ(looks.finish(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out.pressure")));
}

TEST_F(PressureLooksTest, AFileOfAnEarlierRunIsReplacedOnlyIfThatIsWanted) {
  const std::string path = folder_.write("out.pressure/at-80-percent.pb.gz", "old");
  PressureLooks looks(choice(), root_);
  EXPECT_THAT(at(looks, 810), HasSubstr(path + ": file already exists; --force replaces it"));
  EXPECT_EQ(testing_support::read_file(path), "old");
  EXPECT_EQ(looks.finish(), "");
  use(0);
  PressureChoice forced = choice();
  forced.force = true;
  PressureLooks others(forced, root_);
  EXPECT_THAT(at(others, 810), HasSubstr("memprof report " + path));
  EXPECT_EQ(others.finish(), path);
}

TEST_F(PressureLooksTest, WhereNoFolderCanBeMadeTheLineSaysSo) {
  folder_.write("out.pressure", "a file");
  PressureLooks looks(choice(), root_);
  EXPECT_THAT(at(looks, 810),
              HasSubstr("insert(int) holds 100 % of 300 B; " + folder_.path("out.pressure/")));
  EXPECT_EQ(looks.finish(), "");
}

TEST_F(PressureLooksTest, AStallIsALook) {
  write("/sys/fs/cgroup/web/cgroup.type", "domain\n");
  write("/sys/fs/cgroup/web/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  PressureLooks looks(choice(), root_);
  write("/sys/fs/cgroup/web/memory.pressure", "some avg10=20.00 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_THAT(
      at(looks, 100),
      HasSubstr(
          "server: processes of its group waited for memory in 20.0 % of the last 10 s, all at once in 0.0 %; "
          "insert(int) holds 100 % of 300 B; memprof report "));
  const profile::Profile profile = profile::read_pprof_file(folder_.path("out.pressure/stalled.pb.gz"));
  EXPECT_TRUE(profile.is_memory_stalled);
  EXPECT_EQ(profile.stall_some_ppm, 200'000u);
}

TEST_F(PressureLooksTest, TheEndOfTheNameIsKept) {
  PressureChoice other = choice();
  other.output = folder_.path("out.pb");
  PressureLooks looks(other, root_);
  EXPECT_THAT(at(looks, 810), HasSubstr("out.pressure/at-80-percent.pb\n"));
}

TEST_F(PressureLooksTest, AThreadLooksUntilItIsStopped) {
  use(600);
  PressureLooks looks(choice(), root_);
  testing::internal::CaptureStderr();
  looks.start();
  use(960);
  const std::string path = folder_.path("out.pressure/at-95-percent.pb.gz");
  for (int i = 0; i < 2000 && !std::filesystem::exists(path); ++i) usleep(5000);
  looks.stop();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("(95 %)"));
  EXPECT_EQ(looks.finish(), path);
}

TEST_F(PressureLooksTest, ChecksAreRareWhereNothingIsNear) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  PressureWatch watch(root_);
  const auto pause_at = [&](int thousands, std::chrono::nanoseconds took) {
    use(thousands);
    watch.check({12});
    return PressureLooks::pause_after(watch, took);
  };
  EXPECT_EQ(pause_at(499, {}), seconds(1));
  EXPECT_EQ(pause_at(500, {}), milliseconds(100));
  EXPECT_EQ(pause_at(500, milliseconds(1)), seconds(5)) << "a five-thousandth of a processor";
  write("/sys/fs/cgroup/web/memory.max", "max\n");
  EXPECT_EQ(pause_at(500, {}), seconds(15));
}

TEST_F(PressureLooksTest, ChecksComeFasterWhileAMarkIsNear) {
  using std::chrono::milliseconds;
  const auto pause = [](double before, double now) {
    return PressureLooks::pause_while_growing(before, now, milliseconds(1000), milliseconds(500));
  };
  EXPECT_EQ(pause(60, 60), milliseconds(500));
  EXPECT_EQ(pause(70, 60), milliseconds(500));
  EXPECT_EQ(pause(60, 65), milliseconds(500)) << "it takes three seconds";
  EXPECT_NEAR(static_cast<double>(pause(45, 75).count()), 55.6e6, 1e5) << "a third of the time";
  EXPECT_EQ(pause(60, 79.9), milliseconds(50));
  EXPECT_EQ(pause(60, 95), milliseconds(500)) << "there is no mark any more";
  EXPECT_EQ(pause(0, 49), milliseconds(500));
}

}  // namespace
}  // namespace memprof::cli
