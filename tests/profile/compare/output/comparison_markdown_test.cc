// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ComparisonMarkdown, HasTablesAndTheRest) {
  const Comparison result = compare(comparison_fixture::before(), comparison_fixture::after());
  const std::string text =
      comparison_markdown(result, {{"row > 1MB", true, "cache grew"}, {"live > 1%", false, "ok"}}, 20);
  EXPECT_THAT(text, HasSubstr("- **FAIL** `row > 1MB`: cache grew\n- pass `live > 1%`: ok\n"));
  EXPECT_THAT(text, HasSubstr("**Grew** (1 function)\n\n| function | change | 95 % interval |"));
  EXPECT_THAT(text, HasSubstr("\n| `cache (cache.c:9)` | +12.5 MiB | "));
  EXPECT_THAT(text, HasSubstr("3 other functions did not change significantly"));
  EXPECT_THAT(text, Not(HasSubstr("steady")));
  EXPECT_THAT(comparison_markdown(result, {}, 0), HasSubstr("\n1 more.\n"));
}

TEST(ComparisonMarkdown, NamesAreNoMarkup) {
  const auto after = comparison_fixture::server("x", {{"a|b`c", 900}});
  const std::string text = comparison_markdown(compare(comparison_fixture::before(), {after}), {}, 20);
  EXPECT_THAT(text, HasSubstr("| `` a\\|b`c "));
  auto programs = comparison_fixture::after();
  programs[0].profile.program = "<script>@all";
  EXPECT_THAT(comparison_markdown(compare(comparison_fixture::before(), programs), {}, 20),
              HasSubstr("\\<script\\>\\@all"));
}

}  // namespace
}  // namespace memprof::profile
