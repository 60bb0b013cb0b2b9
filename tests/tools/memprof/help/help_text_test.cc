// SPDX-License-Identifier: Apache-2.0
#include "memprof/help/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Shown = OptionText::Shown;

Description tool() {
  Description description;
  description.command = "churn";
  description.help = {"memprof churn FILE [OPTIONS]\nmemprof churn -", "Shows it.\n", "More of it.\n",
                      "The end.\n"};
  description.options = {
      {"-n,--rows", "N", "rows to show (20). All of them with 0", Shown::kInBoth},
      {"--a-very-long-option", "VALUE", "in a class:\n  one   first\n  two   second\nor none",
       Shown::kInHelp},
      {"--json", "", std::string(30, 'a') + " " + std::string(30, 'b') + " " + std::string(30, 'c')},
      {"--focus", "REGEX", "only these. Or not", Shown::kInHelp, "report"},
      {"--by", "WHAT", "a row for each. Heaps too", Shown::kInBoth, "report"},
      {"--native", "", "native ones", Shown::kInHelp, "report"},
      {"--metric", "METRIC", "not for this command", Shown::kNowhere, "report"}};
  return description;
}

TEST(HelpText, OfACommand) {
  EXPECT_EQ(help_of(tool()),
            "usage: memprof churn FILE [OPTIONS]\n"
            "       memprof churn -\n"
            "\n"
            "Shows it.\n"
            "\n"
            "More of it.\n"
            "\n"
            "  -n, --rows N  rows to show (20). All of them with 0\n"
            "  --a-very-long-option VALUE\n"
            "                in a class:\n"
            "                  one   first\n"
            "                  two   second\n"
            "                or none\n"
            "  --json        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
            "                cccccccccccccccccccccccccccccc\n"
            "  --by WHAT     a row for each\n"
            "\n"
            "As in `memprof report` (its --help explains them):\n"
            "  --focus REGEX, --native\n"
            "\n"
            "The end.\n");
}

TEST(HelpText, TheShortOneHasFirstSentencesAndSaysWhereTheRestIs) {
  EXPECT_EQ(brief_help_of(tool()),
            "usage: memprof churn FILE [OPTIONS]\n"
            "       memprof churn -\n"
            "\n"
            "Shows it.\n"
            "\n"
            "  -n, --rows N  rows to show (20)\n"
            "  --by WHAT     a row for each\n"
            "\n"
            "All options: memprof churn --help\n");
  Description small;
  small.command = "list";
  small.help.usage = "memprof list";
  small.help.brief = "Lists it.\n";
  EXPECT_EQ(brief_help_of(small), "usage: memprof list\n\nLists it.\n") << "that is all there is";
}

TEST(HelpText, WhereItIsExplainedItIsWhole) {
  Description home = tool();
  home.command = "report";
  EXPECT_THAT(help_of(home), HasSubstr("  --focus REGEX  only these. Or not\n"));
  EXPECT_THAT(help_of(home), Not(HasSubstr("As in")));
  EXPECT_THAT(help_of(home), Not(HasSubstr("--metric")));
}

TEST(HelpText, FirstSentences) {
  EXPECT_EQ(first_sentence("bytes: 64k, 1M ...; 0 is all (docs/a.md). More"),
            "bytes: 64k, 1M ...; 0 is all (docs/a.md)");
  EXPECT_EQ(first_sentence("like g_malloc ... and others"), "like g_malloc ... and others");
  EXPECT_EQ(first_sentence("one.\nTwo"), "one");
  EXPECT_EQ(first_sentence("0.5 of it"), "0.5 of it");
  EXPECT_EQ(first_sentence(""), "");
}

TEST(HelpText, Headings) {
  const OptionText option{"-o,--output", "OUT", ""};
  EXPECT_THAT(names_of(option), ElementsAre("-o", "--output"));
  EXPECT_EQ(heading_of(option), "-o, --output OUT");
  EXPECT_EQ(heading_of({"--json", "", ""}), "--json");
}

}  // namespace
}  // namespace memprof::cli
