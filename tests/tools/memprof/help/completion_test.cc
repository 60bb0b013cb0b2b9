// SPDX-License-Identifier: Apache-2.0
// What shells make of the scripts is tested in tests/e2e/completion_test.py.
#include "memprof/help/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<CommandText> two() {
  CommandText run;
  run.description.command = "run";
  run.description.options = {{"-r,--rate", "RATE", "it's a rate [bytes]: 1k. More"},
                             {"--force", "", "replace it"}};
  run.purpose = "run: a program";
  CommandText report;
  report.description.command = "report";
  report.description.options = {{"--json", "", "for programs"},
                                {"--no-such", "", "not for it", OptionText::Shown::kNowhere}};
  report.purpose = "print a profile";
  return {run, report};
}

TEST(Completion, Bash) {
  const std::string script = bash_completion(two());
  EXPECT_THAT(script, HasSubstr("compgen -W \"run report --help --version\""));
  EXPECT_THAT(script,
              HasSubstr("    run) words=\"-r --rate --force -h --help\" values=\"-r|--rate\" runs=1 ;;\n"));
  EXPECT_THAT(script, HasSubstr("    report) words=\"--json -h --help\" values=\"\" runs=0 ;;\n"));
  EXPECT_THAT(script, Not(HasSubstr("--no-such")));
}

TEST(Completion, Zsh) {
  const std::string script = zsh_completion(two());
  EXPECT_EQ(script.find("#compdef memprof\n"), 0u);
  EXPECT_THAT(script, HasSubstr("'run:run\\: a program'"));
  EXPECT_THAT(script, HasSubstr("'*--rate[it'\\''s a rate \\[bytes\\]\\: 1k]:RATE:_files'"));
  EXPECT_THAT(script, HasSubstr("'*--json[for programs]' \\\n"));
}

TEST(Completion, Fish) {
  const std::string script = fish_completion(two());
  EXPECT_THAT(script, HasSubstr("__fish_use_subcommand -f -a report -d 'print a profile'\n"));
  EXPECT_THAT(
      script,
      HasSubstr("'__fish_seen_subcommand_from run' -s r -l rate -r -d 'it'\\''s a rate [bytes]: 1k'\n"));
  EXPECT_THAT(script, HasSubstr("'__fish_seen_subcommand_from report' -l json -d 'for programs'\n"));
}

}  // namespace
}  // namespace memprof::cli
