// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/compare/increment.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "tests/profile/comparison_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> warnings(const std::vector<ComparedProfile>& before,
                                  const std::vector<ComparedProfile>& after) {
  return comparison_facts(before, after, {}).warnings;
}

TEST(ComparisonFacts, SidesAreWhatTheirFilesAre) {
  const Comparison facts = comparison_facts(comparison_fixture::before(), comparison_fixture::after(), {});
  EXPECT_EQ(facts.metric, Metric::kInuseSpace);
  EXPECT_EQ(facts.before.files[0].name, "old.pb.gz");
  EXPECT_EQ(facts.after.facts.rate_bytes, comparison_fixture::kRate);
  EXPECT_TRUE(facts.after.facts.has_intervals);
  EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(ComparisonFacts, SwappedFilesAreSaid) {
  EXPECT_THAT(warnings(comparison_fixture::after(), comparison_fixture::before()),
              ElementsAre(HasSubstr("old.pb.gz was made before new.pb.gz: are they swapped?")));
}

TEST(ComparisonFacts, OtherProgramsAreSaid) {
  auto after = comparison_fixture::after();
  after[0].profile.program = "client";
  EXPECT_THAT(warnings(comparison_fixture::before(), after),
              ElementsAre(HasSubstr("different programs (client, server)")));
}

TEST(ComparisonFacts, ExactAgainstSampledAndDroppedAreSaid) {
  auto exact = comparison_fixture::server("exact", {{"cache", 3}}, 0);
  exact.profile.dropped_samples = 1;
  exact.profile.dropped_weight_bytes = 2048;
  EXPECT_THAT(warnings({exact}, comparison_fixture::after()),
              ElementsAre(HasSubstr("exact recorded every allocation, and new.pb.gz was sampled"),
                          HasSubstr("exact lacks 2.0 KiB")));
}

constexpr uint64_t kSecondNs = 1'000'000'000;

// The fixture's after, of another process of the program, or of its own.
std::vector<ComparedProfile> after_of(uint64_t duration_ns, uint64_t pid = 4712) {
  auto after = comparison_fixture::after();
  after[0].profile.duration_ns = duration_ns;
  after[0].profile.pid = pid;
  return after;
}

TEST(ComparisonFacts, EndedAgainstRunningIsSaid) {
  auto before = comparison_fixture::before();
  auto after = comparison_fixture::after();
  after[0].profile.has_ended = true;
  EXPECT_THAT(
      warnings(before, after),
      ElementsAre(AllOf(
          HasSubstr(
              "new.pb.gz is of a program that has ended, and old.pb.gz of one that had not: what is live "),
          HasSubstr("cannot be compared. Compare two files of programs that run, or two of programs that"))));
  for (auto* side : {&before, &after}) (*side)[0].profile.has_metric[metric_index(Metric::kPeakSpace)] = true;
  EXPECT_THAT(
      warnings(before, after),
      ElementsAre(HasSubstr("--metric peak compares what each held at its highest (old.pb.gz so far).")));
  before[0].profile.has_ended = true;
  EXPECT_THAT(warnings(before, after), IsEmpty());
  // Of files by others nobody knows.
  before[0].profile.has_ended = before[0].profile.from_memprof = false;
  EXPECT_THAT(warnings(before, after), ElementsAre(HasSubstr("old.pb.gz was not written by memprof")));
}

TEST(ComparisonFacts, AnotherTimeIsSaid) {
  const auto before = comparison_fixture::before();  // of 12.3 s
  EXPECT_THAT(
      warnings(before, after_of(123 * kSecondNs)),
      ElementsAre(HasSubstr("new.pb.gz covers 123 s, and old.pb.gz 12.3 s: what was allocated, and what "
                            "of it was temporary, grows with time and cannot be compared; live and peak")));
  EXPECT_THAT(warnings(before, after_of(3 * kSecondNs)),
              ElementsAre(HasSubstr("old.pb.gz covers 12.3 s, and new.pb.gz 3 s: ")));
  EXPECT_THAT(warnings(before, after_of(24 * kSecondNs)), IsEmpty()) << "less than twice";
  EXPECT_THAT(warnings(before, after_of(0)), IsEmpty()) << "not known";
  auto quick = comparison_fixture::before();
  quick[0].profile.duration_ns = kSecondNs;
  EXPECT_THAT(warnings(quick, after_of(5 * kSecondNs)), IsEmpty()) << "seconds that a start may take";
  auto levels = after_of(123 * kSecondNs);
  levels[0].profile.has_metric = {false, false, true, true};
  EXPECT_THAT(warnings(before, levels), ElementsAre(HasSubstr("only what all files have")))
      << "no allocations";
}

TEST(ComparisonFacts, OfProgramsThatHaveEndedTheWorkMayBeTheSame) {
  auto before = comparison_fixture::before();
  auto after = after_of(123 * kSecondNs);
  before[0].profile.has_ended = after[0].profile.has_ended = true;
  EXPECT_THAT(warnings(before, after),
              ElementsAre(HasSubstr("12.3 s: unless both programs did the same work, what was allocated")));
}

// What a process allocated between two looks at it is what the later one has more.
TEST(ComparisonFacts, TwoLooksAtOneProcessMayBeOfAnyTime) {
  const auto before = comparison_fixture::before();
  EXPECT_THAT(warnings(before, after_of((12 + 60) * kSecondNs, before[0].profile.pid)), IsEmpty());
}

TEST(ComparisonFacts, AnIncrementAgainstAWholeProfileIsSaid) {
  const auto before = comparison_fixture::before();
  ComparedProfile part = before[0];
  part.name = "part.pb.gz";
  part.profile.time_unix_ns += 60 * kSecondNs;
  part.profile.duration_ns += 60 * kSecondNs;
  part.profile = increment(before[0].profile, part.profile);
  EXPECT_THAT(
      warnings(before, {part}),
      ElementsAre(AllOf(HasSubstr("part.pb.gz is an increment (memprof export --since), and old.pb.gz is a "
                                  "whole profile: what was allocated, "),
                        HasSubstr("of the last 60 s of the one"), HasSubstr("Compare two increments"))));
  ComparedProfile next = part;
  EXPECT_THAT(warnings({part}, {next}), IsEmpty());
  next.name = "next.pb.gz";
  next.profile.duration_ns = 10 * kSecondNs;
  EXPECT_THAT(warnings({part}, {next}),
              ElementsAre(HasSubstr("part.pb.gz covers 60 s, and next.pb.gz 10 s")));
}

TEST(ComparisonFacts, MetricsThatNotAllHaveAreLeftOut) {
  auto after = comparison_fixture::after();
  after[0].profile.has_metric[metric_index(Metric::kInuseSpace)] = false;
  const Comparison facts = comparison_facts(comparison_fixture::before(), after, {});
  EXPECT_EQ(facts.metric, Metric::kAllocSpace);
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("only what all files have is compared")));
  try {
    comparison_facts(comparison_fixture::before(), after, Metric::kInuseSpace);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("new.pb.gz: has no inuse_space; it has alloc_objects"));
  }
  after[0].profile.has_metric = {false, true, false, false};
  auto before = comparison_fixture::before();
  before[0].profile.has_metric = {false, false, false, true};
  try {
    comparison_facts(before, after, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("old.pb.gz has inuse_space"), HasSubstr("new.pb.gz has alloc_space")));
  }
}

}  // namespace
}  // namespace memprof::profile
