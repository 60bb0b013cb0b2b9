// SPDX-License-Identifier: Apache-2.0
#include "memprof/command_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "memprof/cli.h"
#include "memprof/console/arguments.h"
#include "memprof/help/help_text.h"

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
    if (command.synopsis == nullptr) continue;
    EXPECT_THAT(command.synopsis, StartsWith(beginning));
    EXPECT_LE(std::string(command.synopsis).size(), 36u) << "leaves a space before what it is for";
  }
}

// What each says of itself is whole, so that help, completion and manual pages are.
TEST(CommandTable, EachOptionIsExplained) {
  for (const Command& command : commands()) {
    const auto description = describe_command(command.run);
    ASSERT_TRUE(description) << command.name;
    EXPECT_EQ(description->command, command.name);
    EXPECT_THAT(description->help.usage, StartsWith(std::string("memprof ") + command.name));
    EXPECT_FALSE(description->help.brief.empty()) << command.name;
    std::set<std::string> names;
    for (const OptionText& option : description->options) {
      EXPECT_FALSE(option.text.empty()) << command.name << " " << option.names;
      for (const std::string& name : names_of(option)) {
        EXPECT_TRUE(names.insert(name).second) << command.name << " has twice " << name;
      }
      if (option.home.empty()) continue;
      EXPECT_NE(find_command(option.home), nullptr) << option.home;
    }
  }
}

// Of each command in each list.
TEST(CommandTable, HelpHasAllOfThem) {
  for (const char* option : {"--help", "-h"}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli_main({option}), 0);
    const std::string out = testing::internal::GetCapturedStdout();
    for (const Command& command : commands()) {
      if (option == std::string("-h") && command.synopsis == nullptr) continue;
      EXPECT_THAT(
          out, HasSubstr((option == std::string("-h") ? "\n  memprof " : "\n  ") + std::string(command.name)))
          << option;
    }
  }
  EXPECT_THAT(about_commands(), HasSubstr("\n  live       look at a running process"));
  EXPECT_THAT(about_commands(), HasSubstr("\n             than chance\n"))
      << "later lines stand below the first";
  EXPECT_THAT(synopses_of_commands(),
              HasSubstr("\n  memprof list                         processes that have"));
  EXPECT_THAT(names_of_commands(), StartsWith("run, report, "));
  EXPECT_THAT(names_of_commands(), HasSubstr(" and manual"));
}

}  // namespace
}  // namespace memprof::cli
