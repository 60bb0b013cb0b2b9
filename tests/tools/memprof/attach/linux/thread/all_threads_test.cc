// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/all_threads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "memprof/attach/linux/target/survey.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

constexpr int64_t kStopLimitNs = 1'000'000'000;

std::set<pid_t> listed(uint64_t pid) {
  std::set<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    threads.insert(std::stoi(entry.path().filename()));
  }
  return threads;
}

// A program that makes and ends threads all the time.
TEST(AllThreads, NoneRunsOn) {
  NEEDS_PTRACE();
  TargetProcess process({"threads"});
  for (int round = 0; round < 10; ++round) {
    AllThreads all(static_cast<pid_t>(process.pid()));
    ASSERT_EQ(all.stop(10 * kStopLimitNs), "");
    std::set<pid_t> stopped;
    EXPECT_TRUE(all.each([&](const TracedThread& thread) { return stopped.insert(thread.id()).second; }));
    EXPECT_EQ(stopped.count(static_cast<pid_t>(process.pid())), 1u);
    // One that has ended meanwhile may be listed still.
    const std::set<pid_t> now = listed(process.pid());
    for (const pid_t thread : stopped) EXPECT_EQ(now.count(thread), 1u);
    EXPECT_EQ(listed(process.pid()), now);
  }
  EXPECT_EQ(process.finish(), "ok");
}

TEST(AllThreads, VisitsUntilTold) {
  NEEDS_PTRACE();
  TargetProcess process({"malloc"});
  AllThreads all(static_cast<pid_t>(process.pid()));
  ASSERT_EQ(all.stop(10 * kStopLimitNs), "");
  int visits = 0;
  EXPECT_FALSE(all.each([&](const TracedThread&) { return ++visits < 2; }));
  EXPECT_EQ(visits, 2);
  all.let_go();
  EXPECT_TRUE(all.each([](const TracedThread&) { return false; }));
  EXPECT_EQ(process.finish(), "ok");
}

TEST(AllThreads, AProcessThatIsStoppedOrGone) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  kill(static_cast<pid_t>(process.pid()), SIGSTOP);
  while (status_field(process.pid(), "State")[0] != 'T') usleep(1000);
  EXPECT_EQ(AllThreads(static_cast<pid_t>(process.pid())).stop(kStopLimitNs),
            "it was stopped by a signal meanwhile");
  kill(static_cast<pid_t>(process.pid()), SIGCONT);
  EXPECT_EQ(process.finish(), "ok");
  EXPECT_EQ(AllThreads(static_cast<pid_t>(process.pid())).stop(kStopLimitNs), "it has ended");
}

}  // namespace
}  // namespace memprof::cli
