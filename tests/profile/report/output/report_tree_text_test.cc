// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_tree_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;

class TreeText : public ::testing::Test {
 protected:
  TreeText() {
    const uint32_t main = b_.at("main");
    const uint32_t run = b_.at("run");
    const uint32_t parse = b_.at("parse", "/src/p.cc", 12);
    const uint32_t node = b_.at("node");
    const uint32_t cache = b_.at("cache");
    b_.stack({node, parse, run, main}, 600, 1).stack({parse, run, main}, 300, 1);
    b_.stack({cache, run, main}, 90, 1).stack({cache, cache, parse, run, main}, 10, 1);
    options_.has_tree = true;
    options_.has_table = false;
    options_.skip_empty = true;
  }

  std::string text(const TextOptions& text_options = {}) {
    const Report report = build_report(b_.profile(), options_);
    TextWriter writer(text_options);
    if (report.tree) {
      write_tree(report, *report.tree, Direction::kCallees, &writer);
    } else {
      write_tree(report, *report.calls[0].tree, report.calls[0].edges.direction, &writer);
    }
    return writer.take();
  }

  Builder b_;
  ReportOptions options_;
};

// The whole of it, once: what a reader sees.
TEST_F(TreeText, IsATree) {
  EXPECT_EQ(text(),
            "  live   ±       %   self  blocks  function\n"
            "1000 B  0%  100.0%    0 B       4  main → run\n"
            " 910 B  0%   91.0%  300 B       3  ├ parse\n"
            " 600 B  0%   60.0%  600 B       1  │ ├ node\n"
            "  10 B  0%    1.0%   10 B       1  │ └ cache\n"
            "  90 B  0%    9.0%   90 B       1  └ cache\n"
            "\n");
}

TEST_F(TreeText, SaysWhatIsLeftOut) {
  options_.tree.min_percent = 5;
  options_.max_rows = 2;
  EXPECT_EQ(text(),
            "  live   ±       %   self  blocks  function\n"
            "1000 B  0%  100.0%    0 B       4  main → run\n"
            " 910 B  0%   91.0%  300 B       3  ├ parse\n"
            " 610 B       61.0%                 │ └ (2 more)\n"
            "  90 B        9.0%                 └ (1 more)\n"
            "\n"
            "2 rows; 3 branches left out: -n shows more rows, --min-percent smaller ones (now 5).\n");
  options_.max_rows = 20;
  options_.tree.max_depth = 1;
  EXPECT_THAT(text(), HasSubstr("1 row; 2 branches left out: -n shows more rows, --min-percent smaller ones "
                                "(now 5), --depth deeper ones.\n"));
}

TEST_F(TreeText, CallersAreWrittenTheOtherWayRound) {
  options_.callers = "parse";
  EXPECT_EQ(text(),
            " live   ±      %  blocks  function\n"
            "910 B  0%  91.0%       3  parse ← run ← main\n"
            "\n");
}

TEST_F(TreeText, LinesAreToldApart) {
  options_.by = GroupBy::kLine;
  EXPECT_THAT(text(), HasSubstr("├ parse (p.cc:12)\n"));
}

TEST_F(TreeText, WithoutUtf8ItIsAscii) {
  TextOptions options;
  options.has_utf8 = false;
  const std::string shown = text(options);
  EXPECT_THAT(shown, HasSubstr("  main -> run\n"));
  EXPECT_THAT(shown, HasSubstr("  |-parse\n"));
  EXPECT_THAT(shown, HasSubstr("  | `-cache\n"));
  for (const char c : shown) EXPECT_GE(c, 0) << shown;
}

TEST_F(TreeText, ANarrowTerminalDoesWithoutIntervals) {
  TextOptions options;
  options.width = 60;
  EXPECT_THAT(text(options), HasSubstr("  live       %   self  blocks  function\n"));
}

}  // namespace
}  // namespace memprof::profile
