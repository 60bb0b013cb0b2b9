// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/junit_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JunitText, HasEachResult) {
  const std::string text = junit_text({{"suite",
                                        {{"c", "good", JunitResult::kPassed, "fine", ""},
                                         {"c", "bad > 5", JunitResult::kFailed, "too \"much\"", "a\nb & c\n"},
                                         {"c", "odd", JunitResult::kError, "nothing", ""}},
                                        "1 < 2\n"},
                                       {"empty", {}, ""}});
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"suite\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\">"));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"c\" name=\"good\"/>\n"));
  EXPECT_THAT(text, HasSubstr("name=\"bad &gt; 5\">\n<failure message=\"too &quot;much&quot;\">a\nb &amp; c\n"
                              "</failure>\n</testcase>"));
  EXPECT_THAT(text, HasSubstr("<error message=\"nothing\"/>"));
  EXPECT_THAT(text, HasSubstr("<system-out>1 &lt; 2\n</system-out>"));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"empty\" tests=\"0\""));
  EXPECT_THAT(text, Not(HasSubstr("fine")));
}

TEST(JunitText, HasNothingThatXmlDoesNot) {
  const std::string text =
      junit_text({{"s\x01", {{"c", "n\xff", JunitResult::kFailed, "m\x1b[1m", "d\x02\n"}}, ""}});
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace memprof::profile
