// SPDX-License-Identifier: Apache-2.0
#include "memprof/command_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "memprof/cli.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandTable, EachIsFoundByItsName) {
  std::set<std::string> names;
  for (const Command& command : commands()) {
    EXPECT_EQ(find_command(command.name), &command);
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
  }
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command("start"), nullptr);
}

TEST(CommandTable, TextsBelongToTheirCommand) {
  for (const Command& command : commands()) {
    const std::string beginning = std::string("memprof ") + command.name;
    EXPECT_THAT(command.usage, StartsWith(beginning));
    EXPECT_THAT(command.synopsis, StartsWith(beginning));
    EXPECT_LE(std::string(command.synopsis).size(), 36u) << "leaves a space before what it is for";
  }
}

// Of each command in each list.
TEST(CommandTable, HelpHasAllOfThem) {
  for (const char* option : {"--help", "-h"}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli_main({option}), 0);
    const std::string out = testing::internal::GetCapturedStdout();
    for (const Command& command : commands()) {
      EXPECT_THAT(out, HasSubstr(std::string("memprof ") + command.name)) << option;
    }
  }
  EXPECT_THAT(usage_of_commands(), StartsWith("usage: memprof run "));
  EXPECT_THAT(about_commands(), HasSubstr("\n  live     look at a running process"));
  EXPECT_THAT(about_commands(), HasSubstr("\n           than chance\n"))
      << "later lines stand below the first";
  EXPECT_THAT(synopses_of_commands(),
              HasSubstr("\n  memprof list                         processes that have"));
  EXPECT_THAT(names_of_commands(), StartsWith("run, report, "));
  EXPECT_THAT(names_of_commands(), HasSubstr(" and doctor"));
}

}  // namespace
}  // namespace memprof::cli
