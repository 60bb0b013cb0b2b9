// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text(const ComparisonOptions& options = {}, size_t max_rows = 20) {
  return comparison_text(compare(comparison_fixture::before(), comparison_fixture::after(), options),
                         max_rows, {});
}

TEST(ComparisonText, TotalsThenGrowthThenShrinkageThenTheRest) {
  const std::string all = text();
  const char* in_order[] = {
      "Before: server", "After:  server",       "Live:", "Allocated:",        "Grew: 1 function\n",
      "cache",          "Shrank: 1 function\n", "pool",  "3 other functions", "Significant:"};
  size_t at = 0;
  for (const char* part : in_order) {
    const size_t found = all.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << all;
    at = found;
  }
  EXPECT_THAT(all, HasSubstr("+12.5 MiB"));
  EXPECT_THAT(all, HasSubstr("-12.5 MiB"));
  EXPECT_THAT(all, Not(HasSubstr("steady")));
}

TEST(ComparisonText, SaysWhatALineOfPythonAllocatesThroughAndForWhom) {
  const Comparison comparison =
      compare({comparison_fixture::arrays("old", 2, 4)}, {comparison_fixture::arrays("new", 5, 4)});
  EXPECT_THAT(comparison_text(comparison, 20, {}),
              HasSubstr("numeric.py:12  for prices (app.py:4) through array_empty"));
}

TEST(ComparisonText, RssAndItsPartsStandBesideTheHeap) {
  std::vector<ComparedProfile> before = comparison_fixture::before();
  std::vector<ComparedProfile> after = comparison_fixture::after();
  EXPECT_THAT(text(), Not(HasSubstr("RSS:")));
  for (auto* side : {&before, &after}) {
    ResidentMemory& m = side->at(0).profile.resident;
    m.files_bytes = 10 << 20;
    m.heap_bytes = m.live_bytes = 20 << 20;
    m.total_bytes = 30 << 20;
  }
  after[0].profile.resident.free_bytes = after[0].profile.resident.live_bytes;
  after[0].profile.resident.heap_bytes += 20 << 20;
  after[0].profile.resident.total_bytes += 20 << 20;
  EXPECT_THAT(
      comparison_text(compare(before, after, {}), 20, {}),
      HasSubstr(
          "RSS:       30.0 MiB to 50.0 MiB: +20.0 MiB (kept free +20.0 MiB); fragmentation 0 % to 50 %"));
}

TEST(ComparisonText, RowsBeyondTheLimitAreSaid) {
  EXPECT_THAT(text({}, 0), HasSubstr("0 of 1 rows shown; -n 1 shows all."));
}

TEST(ComparisonText, ATreeInsteadOfTables) {
  ComparisonOptions options;
  options.has_tree = true;
  const std::string all = text(options);
  EXPECT_THAT(all, HasSubstr("main\n"));
  EXPECT_THAT(all, HasSubstr("├ "));
  EXPECT_THAT(all, HasSubstr("└ "));
  EXPECT_THAT(all, HasSubstr("Only stacks that end in a function that changed significantly"));
  EXPECT_THAT(all, Not(HasSubstr("Grew")));
}

TEST(ComparisonText, NothingAtAllIsSaid) {
  ComparisonOptions options;
  options.filter.focus = Pattern("nothing");
  EXPECT_THAT(text(options), HasSubstr("Neither side has anything of inuse_space in these stacks."));
  EXPECT_THAT(text(options), HasSubstr("Only stacks with a frame that matches 'nothing'."));
}

TEST(ComparisonText, NamesCannotSteerATerminal) {
  const auto bad = comparison_fixture::server("x", {{"\x1b[2Jevil", 500}});
  EXPECT_THAT(comparison_text(compare(comparison_fixture::before(), {bad}), 20, {}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace memprof::profile
