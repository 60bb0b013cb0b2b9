// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;

constexpr uint64_t kSizesRate = 4096;

Report sizes_of(Builder& b, const char* focus = nullptr) {
  ReportOptions options;
  options.has_sizes = true;
  options.has_table = false;
  if (focus != nullptr) options.filter.focus = Pattern(focus);
  return build_report(b.profile(), options);
}

TEST(ReportSizes, AreClassesOfPowersOfTwo) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f}, 16, 5)
      .stack({f}, 31, 1)
      .stack({f}, 32, 2)
      .stack({f}, 1 << 20, 1)
      .stack({f}, 1, 1)
      .stack({f}, 0, 1);
  const std::vector<SizeRow> rows = sizes_of(b).sizes;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].from_bytes, 1u);
  EXPECT_EQ(rows[0].to_bytes, 2u);
  EXPECT_EQ(rows[0].blocks.value, 2);
  EXPECT_EQ(rows[1].from_bytes, 16u);
  EXPECT_EQ(rows[1].to_bytes, 32u);
  EXPECT_EQ(rows[1].samples, 6u);
  EXPECT_EQ(rows[1].bytes.value, 5 * 16 + 31);
  EXPECT_EQ(rows[2].from_bytes, 32u);
  EXPECT_EQ(rows[3].from_bytes, 1u << 20);
}

TEST(ReportSizes, AreEstimatesThatAddUpToAllThatIsLive) {
  Builder b(kSizesRate);
  b.stack({b.at("f")}, 64, 10).stack({b.at("g")}, 100, 7).stack({b.at("h")}, 1 << 16, 3);
  b.stack({b.at("freed")}, 64, 50, 0);
  const Report report = sizes_of(b);
  double bytes = 0;
  double blocks = 0;
  for (const SizeRow& row : report.sizes) {
    bytes += row.bytes.value;
    blocks += row.blocks.value;
    EXPECT_TRUE(row.bytes.has_interval && row.blocks.has_interval);
    EXPECT_LE(row.bytes.low, row.bytes.value);
    EXPECT_GE(row.bytes.high, row.bytes.value);
  }
  EXPECT_NEAR(bytes, report.totals[metric_index(Metric::kInuseSpace)].value, 1e-6 * bytes);
  EXPECT_NEAR(blocks, report.totals[metric_index(Metric::kInuseObjects)].value, 1e-6 * blocks);
  ASSERT_EQ(report.sizes.size(), 2u);
  EXPECT_NEAR(report.sizes[0].blocks.value,
              10 / sampling_probability(64, kSizesRate) + 7 / sampling_probability(100, kSizesRate), 1e-6);
}

TEST(ReportSizes, AreOfTheStacksThatAreSelected) {
  Builder b;
  b.stack({b.at("f")}, 64, 10).stack({b.at("g")}, 1000, 7);
  const std::vector<SizeRow> rows = sizes_of(b, "^g$").sizes;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].from_bytes, 512u);
}

TEST(ReportSizes, AsATable) {
  Builder b;
  b.stack({b.at("f")}, 2000, 1024);
  TextWriter writer{TextOptions()};
  write_sizes(sizes_of(b), &writer);
  const std::string text = writer.take();
  EXPECT_THAT(text, HasSubstr("size of a block"));
  EXPECT_THAT(text, HasSubstr("1.0 KiB to 2.0 KiB"));
  EXPECT_THAT(text, HasSubstr("100.0%"));
}

}  // namespace
}  // namespace memprof::profile
