// SPDX-License-Identifier: Apache-2.0
// ChildProcess changes what signals do to its process, so each test looks at it in a process of its own: the
// built program.
#include "memprof/run/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_tools::fixture;
using testing_tools::Folder;
using testing_tools::Process;

class ChildProcessTest : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {MEMPROF_PROGRAM, "run", "-o", folder_ / "out.pb", "--force", "--"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  Folder folder_;
  testing_tools::Environment environment_ = {{"MEMPROF_LIBRARY", fixture("fake_library.so")}};
};

TEST(ChildProcess, StatusAsShellsHaveIt) {
  EXPECT_EQ(exit_status(7 << 8), 7);
  EXPECT_EQ(exit_status(SIGKILL), 137);
  EXPECT_EQ(exit_status(SIGSEGV | 0x80), 139) << "with a core";
}

TEST_F(ChildProcessTest, TheStatusIsTheProgrammes) {
  for (const int status : {0, 1, 2, 77, 255}) {
    EXPECT_EQ(testing_tools::run(command({fixture("program"), "exit", std::to_string(status)}), environment_)
                  .status,
              status);
  }
  EXPECT_EQ(testing_tools::run(command({fixture("program"), "kill", "9"}), environment_).status, 137);
  EXPECT_EQ(testing_tools::run(command({fixture("program"), "kill", "15"}), environment_).status, 143);
}

TEST_F(ChildProcessTest, DescriptorsAndSignalsAreThoseWithoutMemprof) {
  for (const char* what : {"fds", "mask"}) {
    const auto alone = testing_tools::run({fixture("program"), what});
    const auto profiled = testing_tools::run(command({fixture("program"), what}), environment_);
    EXPECT_NE(alone.out, "");
    EXPECT_EQ(profiled.out, alone.out) << what;
  }
}

TEST_F(ChildProcessTest, ForwardsWhatIsSentToMemprof) {
  Process process(folder_, command({fixture("program"), "wait"}), environment_);
  ASSERT_TRUE(process.wait_for("ready"));
  for (const int signal : {SIGUSR1, SIGHUP, SIGINT}) {
    kill(process.pid(), signal);
    EXPECT_TRUE(process.wait_for("signal " + std::to_string(signal) + "\n"));
  }
  kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.end().status, 3);
}

TEST_F(ChildProcessTest, WhatIsSentToTheGroupComesOnce) {
  // In a group of its own, as a shell would start it.
  std::vector<std::string> words = command({fixture("program"), "wait"});
  words.insert(words.begin(), "setsid");  // becomes memprof, the leader of the group
  Process process(folder_, words, environment_);
  ASSERT_TRUE(process.wait_for("ready"));
  std::string expected;
  for (const int signal : {SIGUSR1, SIGHUP, SIGINT, SIGUSR1}) {
    kill(-process.pid(), signal);
    expected += "signal " + std::to_string(signal) + "\n";
    EXPECT_TRUE(process.wait_for(expected));
    usleep(50'000);  // a second one would come within this
  }
  // To memprof alone: forwarded, also after those.
  kill(process.pid(), SIGHUP);
  EXPECT_TRUE(process.wait_for(expected + "signal 1\n"));
  kill(-process.pid(), SIGTERM);
  EXPECT_EQ(process.end().status, 3);
}

TEST_F(ChildProcessTest, WhatWasIgnoredStaysIgnored) {
  signal(SIGHUP, SIG_IGN);
  Process process(folder_, command({fixture("program"), "wait"}), environment_);
  signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(process.wait_for("ready"));
  kill(process.pid(), SIGHUP);
  kill(process.pid(), SIGTERM);
  const auto result = process.end();
  EXPECT_EQ(result.status, 3) << "memprof was not ended by SIGHUP";
  EXPECT_THAT(result.out, Not(HasSubstr("signal 1\n")));
}

TEST_F(ChildProcessTest, AnExecThatFailsIsSaid) {
  std::filesystem::copy_file(fixture("program"), folder_ / "busy");
  // The kernel executes no file that is open for writing.
  const int writer = open((folder_ / "busy").c_str(), O_WRONLY | O_CLOEXEC);
  const auto result = testing_tools::run(command({folder_ / "busy"}), environment_);
  close(writer);
  EXPECT_EQ(result.status, 126);
  EXPECT_EQ(result.err, "memprof: " + (folder_ / "busy") + ": cannot run it: text file busy\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.pb"));
}

TEST(ChildProcess, KnowsWhatTheLastProgramWasCalled) {
  EXPECT_EXIT(
      {
        ChildProcess child({"sh", "-c", "exec cat /dev/null"}, {}, "X");
        if (child.start() == 0) child.wait();
        _exit(child.last_name() == "cat" ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace memprof::cli
