// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(PageHtml, HasAPolicyATableAndData) {
  const std::string page = write_page(comparison_fixture::before()[0].profile, "old.pb.gz");
  EXPECT_THAT(page, HasSubstr("<title>old.pb.gz - memprof</title>"));
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("<noscript>"));
  EXPECT_THAT(page, HasSubstr("<td>pool</td><td>pool.c:9</td>"));
  EXPECT_THAT(page, HasSubstr("id=\"data\">H4sI"));  // gzip in base64
  EXPECT_THAT(page, Not(HasSubstr("<!--memprof:")));
}

TEST(PageHtml, NamesAreTextWhereverTheyStand) {
  const std::string evil =
      "</title></script><script>alert('\"1\"')</script><img src=x onerror=alert(2)>\u202e";
  report_fixture::Builder builder(1024);
  builder.stack({builder.at(evil + std::string("\0\xff", 2), evil, 3)}, 64, 10);
  builder.profile().program = evil;
  builder.profile().stacks[0].process = evil;
  const std::string plain = write_page(comparison_fixture::before()[0].profile, "a");
  for (const std::string& page :
       {write_page(builder.profile(), evil),
        write_change_page({{evil, builder.profile()}}, {{evil, builder.profile()}}, std::nullopt)}) {
    EXPECT_EQ(count(page, "<script"), count(plain, "<script"));
    EXPECT_EQ(count(page, "</script"), count(plain, "</script"));
    EXPECT_EQ(count(page, "<img"), 0u);
    EXPECT_EQ(count(page, "\u202e"), 0u);
    EXPECT_EQ(page.find('\0'), std::string::npos);
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert"));
  }
}

TEST(PageHtml, ADifferenceSaysWhatChanged) {
  const std::string page =
      write_change_page(comparison_fixture::before(), comparison_fixture::after(), Metric::kInuseSpace);
  EXPECT_THAT(page, HasSubstr("<title>old.pb.gz to new.pb.gz - memprof</title>"));
  // Without JavaScript it has tables, too, and no text that is set for a terminal.
  EXPECT_THAT(page, Not(HasSubstr("<pre>")));
  EXPECT_THAT(page, HasSubstr("<table><caption>Grew by inuse_space</caption>"));
  EXPECT_THAT(page,
              HasSubstr("<th>change</th><th>95 % interval</th><th>before</th><th>after</th><th>p</th>"));
  EXPECT_THAT(page,
              ContainsRegex("<tr><td>[+][^<]*</td><td>[^<]+</td><td>[^<]+</td><td>[^<]+</td><td>[^<]+</td>"
                            "<td>[^<]*cache[^<]*</td>"));
  EXPECT_THAT(page, Not(HasSubstr(" rows shown")));
}

TEST(PageHtml, AnEmptyProfileHasAPage) {
  report_fixture::Builder builder(1024);
  EXPECT_THAT(write_page(builder.profile(), "empty"), HasSubstr("<tbody>\n</tbody>"));
}

}  // namespace
}  // namespace memprof::profile
