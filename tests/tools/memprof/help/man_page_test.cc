// SPDX-License-Identifier: Apache-2.0
#include "memprof/help/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CommandText leaks() {
  CommandText leaks;
  leaks.description.command = "leaks";
  leaks.description.help = {"memprof leaks FILE",
                            "Finds \\ leaks.\n\n  memprof leaks a\n\n.hidden is a file.\n", "",
                            "1: a leak\n"};
  leaks.description.options = {{"-n,--rows", "N", "rows:\n  one  first\nor all"},
                               {"--metric", "M", "no", OptionText::Shown::kNowhere}};
  leaks.purpose = "find leaks";
  return leaks;
}

TEST(ManPage, OfACommand) {
  CommandText run;
  run.description.command = "run";
  const std::string page = man_page(leaks(), {leaks(), run}, "1.2");
  EXPECT_THAT(page,
              StartsWith(".TH MEMPROF\\-LEAKS 1 \"\" \"memprof 1.2\" \"memprof\"\n.SH NAME\n"
                         "memprof\\-leaks \\- find leaks\n.SH SYNOPSIS\n.nf\nmemprof leaks FILE\n.fi\n"));
  EXPECT_THAT(page,
              HasSubstr("Finds \\e leaks.\n.PP\n.nf\n  memprof leaks a\n.fi\n.PP\n\\&.hidden is a file.\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n.B \\-n, \\-\\-rows N\nrows:\n.nf\n  one  first\n.fi\nor all\n"));
  EXPECT_THAT(page, Not(HasSubstr("metric")));
  EXPECT_THAT(page, HasSubstr(".SH NOTES\n.nf\n1: a leak\n.fi\n"));
  EXPECT_THAT(page, HasSubstr(",\n.BR memprof\\-run (1)\n"));
}

TEST(ManPage, OfAll) {
  const std::string page = man_page_of_all("It shows.", {leaks()}, "1.2");
  EXPECT_THAT(page, StartsWith(".TH MEMPROF 1 "));
  EXPECT_THAT(page, HasSubstr(".TP\n.BR memprof\\-leaks (1)\nfind leaks\n"));
}

}  // namespace
}  // namespace memprof::cli
