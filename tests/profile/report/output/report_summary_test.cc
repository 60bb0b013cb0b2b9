// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string summary_of(Builder& b, const ReportOptions& options = {}) {
  TextWriter writer(TextOptions{});
  write_summary(build_report(b.profile(), options), &writer);
  return writer.take();
}

std::ptrdiff_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(ReportSummary, SaysHowMuchAndHowItWasSampled) {
  Builder b(65536);
  b.stack({b.at("f")}, 100, 1).stack({b.at("g")}, 300, 1);
  const std::string text = summary_of(b);
  EXPECT_THAT(text, HasSubstr("\nMemory:  "));
  EXPECT_THAT(text, HasSubstr("live "));
  EXPECT_THAT(text, HasSubstr("±"));
  EXPECT_THAT(text, HasSubstr("\nSampled: one per 64 KiB allocated, 2 samples; --details says more\n"));
  EXPECT_THAT(text, Not(HasSubstr("Missing")));
  EXPECT_EQ(lines(text), 3);
  b.profile().rates = {{16384, 100, 9'000}, {65536, 300, 1'000}};
  EXPECT_THAT(summary_of(b), HasSubstr("one per 16 KiB to 64 KiB allocated"));
}

TEST(ReportSummary, ExactValuesHaveNoInterval) {
  Builder b(0);
  b.stack({b.at("f")}, 100, 1);
  const std::string text = summary_of(b);
  EXPECT_THAT(text, HasSubstr("live 100 B, allocated 100 B"));
  EXPECT_THAT(text, Not(HasSubstr("±")));
  EXPECT_THAT(text, HasSubstr("Sampled: every allocation, 1 sample; "));
}

// However much is missing, it is one line.
TEST(ReportSummary, SaysAllThatIsMissingInOneLine) {
  Builder b(0);
  b.stack({b.at("f")}, 100, 98);
  Profile& facts = b.profile();
  facts.dropped_samples = 1;
  facts.dropped_weight_bytes = 1024;
  facts.muted_bytes = 2048;
  facts.seen_after_ns = 90'500'000'000;
  facts.unseen_processes = 1;
  facts.uncollected_processes = 2;
  facts.unsampled_processes = 1200;
  facts.import_refused = 1;
  facts.import_unbound = 1;
  facts.import_foreign = 1;
  facts.import_taken = 4;
  facts.import_unseen_ns = 300'000'000;
  facts.replaced_samples = 3;
  facts.runtimes[0].version = 0x030b;
  facts.runtimes[0].objects = 3;
  facts.runtimes[0].stacks = 4;
  facts.walks = {88, 0, 0, 0, 12};
  facts.anonymous_mapped_bytes = 1024;
  facts.anonymous_unseen_bytes = 3072;
  const std::string text = summary_of(b);
  EXPECT_THAT(
      text,
      EndsWith(
          "\nMissing: 1.0 KiB (full tables), 2.0 KiB not sampled, what was allocated before memprof was "
          "attached, 1 process that ran without memprof, 2 processes that could not be read, "
          "1,200 processes without a sample, calls of libraries to malloc in 2 places, calls of "
          "libraries to another allocator in 1 place, what was allocated in 300 ms at most, while another "
          "tool had put its own functions in place of memprof's, "
          "3 frees that were not seen, Python objects, Python frames, callers of 12 % of the samples, "
          "3.0 KiB of anonymous memory\n"));
  EXPECT_EQ(lines(text), 4);
}

TEST(ReportSummary, AFewCutStacksAreNotWorthALine) {
  Builder b;
  b.stack({b.at("f")}, 100, 1);
  b.profile().walks = {991, 9, 0, 0, 0};
  EXPECT_THAT(summary_of(b), Not(HasSubstr("Missing")));
}

TEST(ReportSummary, SaysWhoseCallersAFullTableTook) {
  Builder b;
  b.stack({b.at("f"), b.at("[older stacks]")}, 30, 1).stack({b.at("g")}, 70, 1);
  b.profile().walks = {2};
  EXPECT_THAT(summary_of(b),
              HasSubstr("Missing: callers of 30 % of the bytes (too many different stacks)\n"));
}

TEST(ReportSummary, WithAFilterValuesAreOfTheWhole) {
  Builder b(0);
  b.stack({b.at("f")}, 100, 1).stack({b.at("h")}, 300, 1);
  ReportOptions options;
  options.filter.focus = Pattern("f");
  const std::string text = summary_of(b, options);
  EXPECT_THAT(text, HasSubstr("live 100 B of 400 B total"));
  EXPECT_THAT(text, HasSubstr("; only stacks with a frame that matches 'f'; --details"));
}

TEST(ReportSummary, AProfileByOthers) {
  Builder b;
  b.stack({b.at("f")}, 100, 1);
  b.profile().from_memprof = false;
  EXPECT_THAT(
      summary_of(b),
      HasSubstr(
          "\nValues:  not by memprof, so how exact these values are is unknown; --details says more\n"));
}

TEST(ReportSummary, APeakThatNoSampleTells) {
  Builder b;
  b.stack({b.at("f")}, 100, 1);
  b.profile().has_metric[metric_index(Metric::kPeakSpace)] = true;
  b.profile().samples = 1;
  EXPECT_THAT(summary_of(b), HasSubstr("Memory:  peak not known (no sample was live then), live "));
}

}  // namespace
}  // namespace memprof::profile
