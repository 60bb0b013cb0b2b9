// SPDX-License-Identifier: Apache-2.0
// Rows of one sample each, which a report counts instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/report/output/report_text.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SingleRows, AreOneLine) {
  Builder b(512 * 1024);
  b.stack({b.at("f")}, 1000, 300).stack({b.at("g")}, 1000, 1).stack({b.at("h"), b.at("caller")}, 2000, 1);
  b.stack({b.at("large")}, 100 << 20, 1);
  ReportOptions options;
  options.fold_single = true;
  const Report report = build_report(b.profile(), options);
  EXPECT_EQ(2u, report.row_count);
  EXPECT_EQ(3u, report.single_rows.count) << "g, h, and what called h alone";
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("\n3 rows of one sample each hold 1.0 MiB together; --details lists them.\n"));
  EXPECT_THAT(text, HasSubstr("  large"));
  EXPECT_THAT(text, Not(HasSubstr("  g")));
  EXPECT_THAT(report_text(build_report(b.profile(), {})), HasSubstr("  g")) << "with --details";
  Builder one(512 * 1024);
  one.stack({one.at("f")}, 1000, 300).stack({one.at("g")}, 1000, 1);
  EXPECT_THAT(report_text(build_report(one.profile(), options)),
              HasSubstr("\n1 row of one sample holds 512.5 KiB; --details lists it.\n"));
}

TEST(SingleRows, TheFirstRowStaysWhereAllAreOfOneSample) {
  Builder b(512 * 1024);
  b.stack({b.at("g"), b.at("caller")}, 2000, 1).stack({b.at("h")}, 1000, 1);
  ReportOptions options;
  options.fold_single = true;
  const Report report = build_report(b.profile(), options);
  ASSERT_EQ(1u, report.rows.size());
  EXPECT_EQ(2u, report.single_rows.count);
  EXPECT_EQ(report.rows[0].name, "g");
  Builder lone(512 * 1024);
  lone.stack({lone.at("g"), lone.at("caller")}, 2000, 1);
  EXPECT_THAT(report_text(build_report(lone.profile(), options)),
              HasSubstr("\n1 row of one sample holds nothing itself; --details lists it.\n"));
}

}  // namespace
}  // namespace memprof::profile
