// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/run_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "format/files/run_tally.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kLong = std::chrono::minutes(1);

TEST(RunEvents, AnEndIsTold) {
  RunEvents events("");
  ASSERT_TRUE(events.is_usable());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const auto pid = static_cast<uint64_t>(child);
  if (!events.watch_end(pid)) {
    waitpid(child, nullptr, 0);
    GTEST_SKIP() << "the kernel has no pidfd_open";
  }
  EXPECT_TRUE(events.watch_end(pid));
  EXPECT_THAT(events.wait(kLong).ended, ElementsAre(pid));
  waitpid(child, nullptr, 0);
  EXPECT_THAT(events.wait(std::chrono::nanoseconds(0)).ended, IsEmpty()) << "it is told once";
  EXPECT_FALSE(events.watch_end(pid));
}

TEST(RunEvents, MostDescriptorsAreLeftToOthers) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  RunEvents events("");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(events.is_usable());
  int watched = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    children.push_back(child);
    watched += events.watch_end(static_cast<uint64_t>(child)) ? 1 : 0;
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  if (watched == 0) GTEST_SKIP() << "the kernel has no pidfd_open";
  EXPECT_EQ(watched, 16);
}

TEST(RunEvents, WhatIsMadeInTheFolderIsTold) {
  const testing_tools::Folder folder;
  const std::string tally = folder / kRunTallyName;
  testing_tools::write_file(tally, "counts");
  testing_tools::write_file(folder / "before", "x");
  RunEvents events(folder.path());
  ASSERT_TRUE(events.tells_of_files());
  EXPECT_FALSE(events.wait(std::chrono::nanoseconds(0)).is_any());
  // What memprof itself reads is no news.
  EXPECT_EQ(testing_tools::read_file(folder / "before"), "x");
  EXPECT_FALSE(events.wait(std::chrono::nanoseconds(0)).is_any());
  testing_tools::write_file(folder / "made", "x");
  EXPECT_TRUE(events.wait(kLong).has_files);
  EXPECT_FALSE(events.wait(std::chrono::nanoseconds(0)).is_any());
  EXPECT_EQ(testing_tools::read_file(tally), "counts");
  EXPECT_TRUE(events.wait(kLong).has_files) << "a process of the run began";
}

TEST(RunEvents, OneThatIsWokenStaysAwake) {
  RunEvents events("/nowhere");
  EXPECT_FALSE(events.tells_of_files());
  EXPECT_FALSE(events.rest(std::chrono::nanoseconds(1)));
  events.wake();
  EXPECT_TRUE(events.rest(kLong));
  EXPECT_TRUE(events.wait(kLong).is_woken);
  EXPECT_TRUE(events.rest(kLong));
}

}  // namespace
}  // namespace memprof::cli
