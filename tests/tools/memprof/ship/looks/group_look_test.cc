// SPDX-License-Identifier: Apache-2.0
// Processes that run are looked at in tests/e2e/ship_known_stacks_test.py.
#include "memprof/ship/looks/group_look.h"

#include <gtest/gtest.h>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;

profile::Profile profile_of(const std::string& function, double allocated, double held) {
  profile::Profile profile;
  for (size_t i = 0; i < profile::kFirstMetrics; ++i) profile.has_metric[i] = true;
  profile.rate_bytes = 4096;
  profile.mappings = {{0x1000, 0x9000, 0, "/bin/a", "abcd", true, true, true, false}};
  profile.functions = {{function, function, "a.c", 1}};
  profile.locations = {{0x1000 + std::hash<std::string>()(function) % 0x8000, 0, false, {{0, 7}}}};
  profile::Stack stack;
  stack.locations = {0};
  stack.values[metric_index(Metric::kAllocSpace)] = allocated;
  stack.values[metric_index(Metric::kInuseSpace)] = held;
  profile.stacks = {stack};
  return profile;
}

double total(const profile::Profile& profile, Metric metric) {
  return profile::estimated_total(profile, metric);
}

// The first look is whole and begins the group; the second one adds rows up.  Both say the same.
TEST(GroupLook, AWholeLookAndOneOfRowsSayTheSame) {
  KnownStacks known;
  StackTotals first;
  StackTotals second;
  for (const bool is_known : {false, true}) {
    EXPECT_EQ(known.find("labels") != nullptr, is_known);
    const double more = is_known ? 100 : 0;
    GroupLook look(known, "labels");
    EXPECT_EQ(look.add(profile_of("f", 1000 + more, 70), &first, true).bytes, is_known ? 100 : 1000);
    EXPECT_EQ(look.add(profile_of("g", 500 + more, 30), &second, false).bytes, is_known ? 100 : 500);
    const profile::Profile profile = look.take();
    EXPECT_EQ(profile.stacks.size(), 2U);
    EXPECT_EQ(profile.rate_bytes, 4096U);
    EXPECT_TRUE(profile.has_metric[metric_index(Metric::kAllocSpace)]);
    EXPECT_FALSE(profile.has_metric[metric_index(Metric::kPeakSpace)]);
    EXPECT_EQ(total(profile, Metric::kAllocSpace), is_known ? 200 : 1500);
    EXPECT_EQ(total(profile, Metric::kInuseSpace), 70) << "the second one holds nothing any more";
    EXPECT_EQ(look.known_processes(), 0U);
  }
}

TEST(GroupLook, TwoProcessesWithOneStackAreOneRow) {
  KnownStacks known;
  StackTotals totals[4];
  for (const size_t first : {0, 2}) {
    GroupLook look(known, "labels");
    look.add(profile_of("f", 1000, 70), &totals[first], true);
    look.add(profile_of("f", 500, 30), &totals[first + 1], true);
    const profile::Profile profile = look.take();
    ASSERT_EQ(profile.stacks.size(), 1U);
    EXPECT_EQ(total(profile, Metric::kAllocSpace), 1500);
    EXPECT_EQ(total(profile, Metric::kInuseSpace), 100);
  }
}

}  // namespace
}  // namespace memprof::cli
