// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/markdown_text.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(MarkdownText, CodeMayHaveWhatEndsIt) {
  EXPECT_EQ(markdown_code("f"), "`f`");
  EXPECT_EQ(markdown_code("a|b"), "`a\\|b`");
  EXPECT_EQ(markdown_code("a`b``c"), "``` a`b``c ```");
  EXPECT_EQ(markdown_code("a\nb").find('\n'), std::string::npos);
}

TEST(MarkdownText, PlainTextIsNoMarkup) {
  EXPECT_EQ(markdown_plain("operator*<T>(a_b)"), "operator\\*\\<T\\>(a\\_b)");
  EXPECT_EQ(markdown_plain("@team #1 | x"), "\\@team \\#1 \\| x");
}

}  // namespace
}  // namespace memprof::profile
