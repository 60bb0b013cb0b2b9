// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
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
