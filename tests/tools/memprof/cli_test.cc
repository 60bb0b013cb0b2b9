// SPDX-License-Identifier: Apache-2.0
#include "memprof/cli.h"

#include <gtest/gtest.h>

#include "memprof/command_table.h"

namespace memprof::cli {
namespace {

std::pair<int, std::string> out_of(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  const int status = cli_main(arguments);
  return {status, testing::internal::GetCapturedStdout()};
}

std::pair<int, std::string> err_of(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStderr();
  const int status = cli_main(arguments);
  return {status, testing::internal::GetCapturedStderr()};
}

TEST(Cli, AloneItHelps) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--help"}, {"-h"}, {"help"}}) {
    const auto [status, out] = out_of(arguments);
    EXPECT_EQ(status, 0);
    EXPECT_NE(out.find("memprof run"), std::string::npos);
  }
  EXPECT_EQ(out_of({"help", "report"}).second, out_of({"report", "--help"}).second);
}

TEST(Cli, EveryCommandHelps) {
  for (const Command& command : commands()) {
    const auto [status, out] = out_of({command.name, "--help"});
    EXPECT_EQ(status, 0);
    EXPECT_EQ(out.find("usage: memprof " + std::string(command.name)), 0u) << command.name;
  }
}

TEST(Cli, LiveNamesTheWayIntoAProcessWithoutMemprof) {
  EXPECT_NE(out_of({"live", "--help"}).second.find("`memprof attach`"), std::string::npos);
}

TEST(Cli, HelpFitsATerminal) {
  std::vector<std::vector<std::string>> all = {{}, {"--help"}};
  for (const Command& command : commands()) all.push_back({command.name, "--help"});
  for (const std::vector<std::string>& arguments : all) {
    const std::string out = out_of(arguments).second;
    for (size_t begin = 0; begin < out.size(); begin = out.find('\n', begin) + 1) {
      EXPECT_LE(out.find('\n', begin) - begin, 82u) << out.substr(begin, 100);
    }
  }
}

TEST(Cli, SaysItsVersion) {
  EXPECT_EQ(out_of({"--version"}).second, "memprof " MEMPROF_VERSION "\n");
}

TEST(Cli, UnknownWordsAreNamed) {
  EXPECT_EQ(err_of({"start"}).first, 2);
  EXPECT_EQ(
      err_of({"start"}).second,
      "memprof: unknown command 'start'; the commands are run, report, view, diff, check, churn, leaks, "
      "merge, export, live, attach, ship, fleet, list, clean, doctor, completion and manual (memprof --help)\n");
  EXPECT_EQ(err_of({"--start"}).second.find("memprof: unknown option '--start'"), 0u);
}

}  // namespace
}  // namespace memprof::cli
