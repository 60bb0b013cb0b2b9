// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_values.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ReportValues, AreNullWhereTheyAreNotKnown) {
  Report report;
  report.has_metric[metric_index(Metric::kInuseSpace)] = true;
  std::array<Estimate, kMetricCount> values{};
  values[metric_index(Metric::kInuseSpace)].value = 99.6;
  const nlohmann::ordered_json all = estimate_values(report, values);
  EXPECT_EQ(all["inuse_space"].dump(), R"({"value":100,"low":null,"high":null})");
  EXPECT_EQ(all["alloc_space"].dump(), R"({"value":null,"low":null,"high":null})");
  EXPECT_FALSE(all.contains("mapped_space")) << "of those that not every profile has";
}

TEST(ReportValues, AreFieldsOfCsvWhereTheReportHasThem) {
  Report report;
  report.has_metric[metric_index(Metric::kInuseSpace)] = true;
  const std::vector<CsvField> fields = estimates_fields(report);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[1].suffix, "_inuse_space_low");
  EXPECT_EQ(fields[1].at, "/inuse_space/low");
  EXPECT_EQ(estimate_fields().size(), 3u);
}

}  // namespace
}  // namespace memprof::profile
