// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/increment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/compare/merge.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

// named_profile() a second later: more of its first stack, nothing of its second, and a third one.
Profile later_profile() {
  Profile profile = named_profile();
  profile.time_unix_ns += 1'000'000'000;
  profile.duration_ns += 1'000'000'000;
  add_samples(profile.stacks[0].allocated, 64, 4);
  add_samples(profile.stacks[0].freed, 64, 2);
  profile.stacks[0].live[0].samples = 7;
  Stack third;
  third.locations = {1};
  third.has_statistics = true;
  third.live = {{100, kTestRate, 2}};
  add_samples(third.allocated, 100, 2);
  profile.stacks.push_back(third);
  profile.samples += 6;
  profile.walks[0] += 6;
  return profile;
}

TEST(Increment, IsWhatWasAllocatedSinceAndWhatIsLive) {
  const Profile before = named_profile();
  const Profile after = later_profile();
  EXPECT_EQ(why_no_increment(before, after), "");
  const Profile rest = increment(before, after);
  for (const Metric metric : kMetrics) {
    const bool is_cumulative = !metric_is_live(metric) && !metric_is_peak(metric);
    EXPECT_NEAR(estimated_total(rest, metric),
                estimated_total(after, metric) - (is_cumulative ? estimated_total(before, metric) : 0), 1e-6)
        << metric_name(metric);
  }
  EXPECT_EQ(rest.samples, 6u);
  EXPECT_EQ(rest.walks[0], 6u);
  EXPECT_EQ(rest.duration_ns, 1'000'000'000u);
  ASSERT_EQ(rest.stacks.size(), 3u);
  EXPECT_EQ(rest.stacks[0].allocated.samples, 4u);
  EXPECT_EQ(rest.stacks[0].allocated.size_bytes, 256u);
  EXPECT_EQ(rest.stacks[1].allocated.weight_bytes, 0);
  EXPECT_THAT(rest.comments.back(), HasSubstr("last 1.000 s"));
}

TEST(Increment, KeepsWhatHasNoStatistics) {
  for (const Metric metric :
       {Metric::kMappedSpace, Metric::kMappedResidentObjects, Metric::kResidentSpace, Metric::kJsSpace}) {
    Profile before = named_profile();
    Profile after = later_profile();
    for (Profile* profile : {&before, &after}) {
      Stack stack;
      stack.locations = {1, 1};
      stack.has_statistics = true;
      stack.values[metric_index(metric)] = 4096;
      profile->stacks.push_back(stack);
      profile->has_metric[metric_index(metric)] = true;
    }
    EXPECT_EQ(4096, estimated_total(increment(before, after), metric)) << metric_name(metric);
  }
}

// As of a process of which only the second half was sampled.
TEST(Increment, HasIntervals) {
  const Profile again = read_pprof(write_pprof(increment(named_profile(), later_profile())), "x");
  Accumulator sum;
  for (const Stack& stack : again.stacks) {
    EXPECT_TRUE(stack.has_statistics);
    sum.add(stack);
  }
  const Estimate allocated = sum.estimate(Metric::kAllocSpace);
  EXPECT_TRUE(allocated.has_interval);
  EXPECT_LT(allocated.low, allocated.value);
  EXPECT_GT(allocated.high, allocated.value);
}

TEST(Increment, SinceItselfIsNothingButWhatIsLive) {
  const Profile rest = increment(named_profile(), named_profile());
  EXPECT_EQ(estimated_total(rest, Metric::kAllocSpace), 0);
  EXPECT_EQ(estimated_total(rest, Metric::kInuseSpace),
            estimated_total(named_profile(), Metric::kInuseSpace));
}

// A full table: what a stack had allocated stands in another one by now.
TEST(Increment, StacksThatWereFoldedSinceHaveLessThanNothing) {
  Profile after = later_profile();
  add_totals(after.stacks[0].allocated, &after.stacks[2].allocated);
  add_totals(after.stacks[0].freed, &after.stacks[2].freed);
  after.stacks.erase(after.stacks.begin());
  const Profile rest = increment(named_profile(), after);
  EXPECT_NEAR(estimated_total(rest, Metric::kAllocSpace),
              estimated_total(later_profile(), Metric::kAllocSpace) -
                  estimated_total(named_profile(), Metric::kAllocSpace),
              1e-6);
  const Stack& gone = rest.stacks.back();
  EXPECT_FALSE(gone.has_statistics);
  EXPECT_LT(gone.values[metric_index(Metric::kAllocSpace)], 0);
  EXPECT_EQ(gone.values[metric_index(Metric::kInuseSpace)], 0);
}

TEST(Increment, OfProfilesByOthersValuesAreSubtracted) {
  Profile before = named_profile();
  before.from_memprof = false;
  before.stacks.resize(1);
  Stack& stack = before.stacks[0];
  stack = Stack();
  stack.locations = {1};
  stack.values = {2, 20, 1, 10};
  Profile after = before;
  after.stacks[0].values = {5, 50, 0, 0};
  after.stacks[0].parts = {{{{"k", "v", 0, ""}}, {5, 50, 0, 0}}};
  const Profile rest = increment(before, after);
  ASSERT_EQ(rest.stacks.size(), 1u);
  EXPECT_EQ(rest.stacks[0].values, (std::array<double, kMetricCount>{3, 30, 0, 0, 0, 0}));
  EXPECT_EQ(rest.stacks[0].parts.size(), 2u);
}

// A file says that it is one, also behind a writer, and a sum with one in it does.
TEST(Increment, IsKnownByItsFile) {
  EXPECT_FALSE(is_increment(later_profile()));
  const Profile part = read_pprof(write_pprof(increment(named_profile(), later_profile())), "x");
  EXPECT_TRUE(is_increment(part));
  Merger merger(Processes::kAddedUp);
  merger.add(later_profile());
  merger.add(part);
  EXPECT_TRUE(is_increment(merger.take()));
  EXPECT_THAT(why_no_increment(named_profile(), part), HasSubstr("an increment already"));
}

TEST(Increment, SaysWhyThereIsNone) {
  const Profile before = named_profile();
  Profile after = later_profile();
  EXPECT_THAT(why_no_increment(after, before), HasSubstr("is newer"));
  after.pid = 43;
  EXPECT_THAT(why_no_increment(before, after), HasSubstr("another process (server 42, not server 43)"));
  after = later_profile();
  after.samples = 3;
  EXPECT_THAT(why_no_increment(before, after), HasSubstr("earlier process"));
  after = later_profile();
  after.time_unix_ns += 5'000'000'000;
  EXPECT_THAT(why_no_increment(before, after), HasSubstr("earlier process"));
  after.from_memprof = false;
  EXPECT_THAT(why_no_increment(before, after), HasSubstr("the other was not"));
  after.has_metric = {false, false, true, true};
  EXPECT_THAT(why_no_increment(before, after), HasSubstr("has nothing of what was allocated"));
}

}  // namespace
}  // namespace memprof::profile
