// SPDX-License-Identifier: Apache-2.0
#include "memprof/help_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/command_table.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tools::memprof;

TEST(HelpCommands, CompletionKnowsAllCommands) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto done = memprof({"completion", shell});
    EXPECT_EQ(done.status, 0);
    for (const Command& command : commands()) EXPECT_THAT(done.out, HasSubstr(command.name)) << shell;
    EXPECT_THAT(done.out, HasSubstr("debuginfod"));
  }
}

TEST(HelpCommands, ManualPages) {
  EXPECT_THAT(memprof({"manual"}).out, StartsWith(".TH MEMPROF 1 "));
  EXPECT_THAT(memprof({"manual", "run"}).out, StartsWith(".TH MEMPROF\\-RUN 1 "));
}

TEST(HelpCommands, WrongUse) {
  for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"completion"}, "no shell given; usage: memprof completion bash|zsh|fish"},
           {{"completion", "tcsh"}, "'tcsh' is not one of bash, zsh, fish"},
           {{"manual", "no-such"}, "'no-such' is not one of run, report"},
           {{"manual", "--no-such"}, "unknown option '--no-such'"}}) {
    const auto done = memprof(words);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr(part));
  }
}

}  // namespace
}  // namespace memprof::cli
