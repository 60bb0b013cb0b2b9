// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/seen_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/mapped.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

Report report_of(uint64_t seen_mib, uint64_t unseen_mib) {
  Report report;
  for (const Metric metric : kMetrics) report.has_metric[metric_index(metric)] = metric_is_mapped(metric);
  report.selected[metric_index(Metric::kMappedObjects)].value = 3;
  report.selected[metric_index(Metric::kMappedSpace)].value = 1 << 30;
  report.selected[metric_index(Metric::kMappedResidentSpace)].value = 5 << 20;
  report.totals = report.selected;
  report.measured_resident_bytes = (seen_mib + unseen_mib + 10) << 20;
  report.anonymous_mapped_bytes = (seen_mib - 1) << 20;
  report.anonymous_malloc_bytes = 1 << 20;
  report.anonymous_unseen_bytes = unseen_mib << 20;
  return report;
}

TEST(SeenMemory, SaysWhatIsMappedAndHowMuchIsAccountedFor) {
  const std::vector<std::string> lines = seen_memory_lines(report_of(96, 4));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "Mapped:    1.0 GiB in 3 mappings, 5.0 MiB of it resident; --mmap lists them");
  EXPECT_EQ(
      lines[1],
      "Seen:      96.0 % of 100.0 MiB anonymous memory (mapped 95.0 MiB, malloc 1.0 MiB), 96.4 % of 110.0 "
      "MiB resident with files");
}

TEST(SeenMemory, WarnsWhereLittleIsSeen) {
  EXPECT_EQ(seen_memory_lines(report_of(80, 20)).size(), 2u);
  const std::vector<std::string> lines = seen_memory_lines(report_of(79, 21));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[2], HasSubstr("21.0 MiB of anonymous memory is not seen"));
}

TEST(SeenMemory, NeverAllForLess) {
  Report report = report_of(1 << 20, 0);
  EXPECT_THAT(seen_memory_lines(report)[1], HasSubstr("100.0 % of"));
  report.anonymous_unseen_bytes = 1;
  EXPECT_THAT(seen_memory_lines(report)[1], HasSubstr("99.9 % of"));
  EXPECT_LT(seen_share(report), 1);
}

TEST(SeenMemory, OfWhatWasNotRecordedOrMeasured) {
  Report report = report_of(10, 10);
  report.measured_resident_bytes = 0;
  ASSERT_EQ(seen_memory_lines(report).size(), 1u);
  EXPECT_THAT(seen_memory_lines(report)[0], HasSubstr("5.0 MiB of it resident"));
  report.selected[metric_index(Metric::kMappedResidentSpace)].value =
      0;  // of other stacks there is something
  EXPECT_THAT(seen_memory_lines(report)[0], HasSubstr("0 B of it resident"));
  report.has_metric[metric_index(Metric::kMappedResidentSpace)] = false;
  ASSERT_EQ(seen_memory_lines(report).size(), 1u);
  EXPECT_THAT(seen_memory_lines(report)[0], HasSubstr("was not measured"));
  EXPECT_TRUE(seen_memory_lines(Report()).empty());
  EXPECT_EQ(seen_share(ProfileFacts()), 1);
}

TEST(SeenMemory, ATenthOfTheProcessThatIsMappedIsMuch) {
  Report report = report_of(40, 0);  // 50 MiB, and 5 of them are mapped and in memory
  EXPECT_EQ(metric_of_much_mapped(report), Metric::kMappedResidentSpace);
  report.max_resident_bytes = 51 << 20;
  EXPECT_EQ(metric_of_much_mapped(report), std::nullopt);
  report.has_metric[metric_index(Metric::kMappedResidentSpace)] = false;
  EXPECT_EQ(metric_of_much_mapped(report), Metric::kMappedSpace) << "1 GiB, and nobody measured it";
  EXPECT_EQ(metric_of_much_mapped(Report()), std::nullopt);
}

TEST(SeenMemory, AStackThatOnlyMapped) {
  Stack stack;
  EXPECT_FALSE(is_only_apart(stack));
  stack.values[metric_index(Metric::kMappedObjects)] = 1;
  EXPECT_TRUE(is_only_apart(stack));
  stack.values[metric_index(Metric::kAllocSpace)] = 1;
  EXPECT_FALSE(is_only_apart(stack));
}

}  // namespace
}  // namespace memprof::profile
