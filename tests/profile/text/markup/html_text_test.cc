// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/html_text.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::profile {
namespace {

TEST(HtmlText, NothingOfANameIsMarkup) {
  EXPECT_EQ(html_text("</script><b a=\"1\" c='2'>&amp;"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
}

TEST(HtmlText, WhatCannotBeSeenIsMarked) {
  EXPECT_EQ(html_text(std::string("a\0b\x1b[1m", 7)), "a?b?[1m");
  EXPECT_EQ(html_text("\xff\xfe"), "??");
  EXPECT_EQ(html_text("a\u202eb").find("\u202e"), std::string::npos);
  EXPECT_EQ(html_text("größe"), "größe");
}

}  // namespace
}  // namespace memprof::profile
