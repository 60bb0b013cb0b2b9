// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/alloc_totals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;

profile::Stack stack_of(uint32_t location, double objects, double bytes, double live) {
  profile::Stack stack;
  stack.locations = {location};
  stack.values[metric_index(Metric::kAllocObjects)] = objects;
  stack.values[metric_index(Metric::kAllocSpace)] = bytes;
  stack.values[metric_index(Metric::kInuseSpace)] = live;
  return stack;
}

profile::Profile profile_of(std::vector<profile::Stack> stacks) {
  profile::Profile profile;
  for (size_t i = 0; i < profile::kFirstMetrics; ++i) profile.has_metric[i] = true;
  profile.mappings = {{0x1000, 0x9000, 0, "/bin/a", "abcd", false, false, false, false}};
  for (uint64_t i = 0; i < 8; ++i) profile.locations.push_back({0x1000 + 16 * i, 0, false, {}});
  profile.stacks = std::move(stacks);
  return profile;
}

double value_of(const profile::Profile& profile, size_t stack, Metric metric) {
  return profile.stacks[stack].values[metric_index(metric)];
}

TEST(AllocTotals, AnIncrementIsWhatCameSince) {
  StackTotals known;
  profile::Profile first = profile_of({stack_of(0, 10, 1000, 500), stack_of(1, 1, 64, 64)});
  const AllocTotals all = take_increment(&known, &first);
  EXPECT_EQ(all.objects, 11);
  EXPECT_EQ(all.bytes, 1064);
  profile::Profile second =
      profile_of({stack_of(2, 5, 50, 0), stack_of(0, 12, 1300, 100), stack_of(1, 1, 64, 0)});
  const AllocTotals more = take_increment(&known, &second);
  EXPECT_EQ(more.objects, 7);
  EXPECT_EQ(more.bytes, 350);
  EXPECT_EQ(value_of(second, 0, Metric::kAllocSpace), 50);
  EXPECT_EQ(value_of(second, 1, Metric::kAllocSpace), 300);
  EXPECT_EQ(value_of(second, 2, Metric::kAllocSpace), 0);
  EXPECT_EQ(value_of(second, 1, Metric::kInuseSpace), 100) << "a level stays what it is";
  drop_levels(&second.stacks[1].values);
  EXPECT_EQ(value_of(second, 1, Metric::kInuseSpace), 0);
  EXPECT_EQ(value_of(second, 1, Metric::kAllocSpace), 300);
}

// Stacks of one id (their code was loaded twice) have their sum once.
TEST(AllocTotals, StacksOfOneIdAreOne) {
  StackTotals known;
  profile::Profile profile = profile_of({stack_of(0, 1, 100, 0), stack_of(0, 2, 50, 0)});
  EXPECT_EQ(take_increment(&known, &profile).bytes, 150);
  EXPECT_EQ(value_of(profile, 0, Metric::kAllocSpace) + value_of(profile, 1, Metric::kAllocSpace), 150);
  EXPECT_EQ(known.size(), 1U);
}

TEST(AllocTotals, AProfilerThatWasStartedAnewBeginsAtNothing) {
  StackTotals known;
  profile::Profile before = profile_of({stack_of(0, 10, 1000, 0)});
  take_increment(&known, &before);
  profile::Profile after = profile_of({stack_of(0, 3, 300, 0)});
  EXPECT_EQ(take_increment(&known, &after).bytes, 300);
}

// One stack has less (a table that was shared otherwise), all together have more: the sum is right, and what is taken
// off is taken off one stack.
TEST(AllocTotals, NoIncrementIsBelowNothing) {
  StackTotals known;
  profile::Profile first = profile_of({stack_of(0, 10, 1000, 0), stack_of(1, 10, 1000, 0)});
  take_increment(&known, &first);
  profile::Profile second = profile_of({stack_of(0, 9, 900, 0), stack_of(1, 30, 3000, 0)});
  EXPECT_EQ(take_increment(&known, &second).bytes, 1900);
  EXPECT_EQ(value_of(second, 0, Metric::kAllocSpace), 0);
  profile::Profile third = profile_of({stack_of(0, 11, 1100, 0), stack_of(1, 30, 3000, 0)});
  EXPECT_EQ(take_increment(&known, &third).bytes, 200);
}

// Each stack is rounded in the file; the report rounds the sum once.
TEST(AllocTotals, SumsAreRoundedOnce) {
  StackTotals known;
  int64_t shipped = 0;
  for (int look = 1; look < 20; ++look) {
    std::vector<profile::Stack> stacks;
    double total = 0;
    double live = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      const double bytes = 1000.4 * look + i;
      profile::Stack stack = stack_of(i, std::round(bytes), std::round(bytes), std::round(bytes));
      stack.has_statistics = true;
      stack.allocated.samples = 1;
      stack.allocated.weight_count = stack.allocated.weight_bytes = bytes;
      stack.live = {{900, 1000, static_cast<uint64_t>(look)}};
      total += bytes;
      live += profile::estimated_value(stack, Metric::kInuseSpace);
      stacks.push_back(stack);
    }
    profile::Profile profile = profile_of(stacks);
    shipped += take_increment(&known, &profile).bytes;
    EXPECT_EQ(shipped, std::llround(total)) << look;
    double levels = 0;
    for (size_t i = 0; i < 8; ++i) levels += value_of(profile, i, Metric::kInuseSpace);
    EXPECT_EQ(levels, std::round(live)) << look;
  }
}

TEST(AllocTotals, IncrementsAddUpToTheLastTotal) {
  std::mt19937_64 random(7);
  StackTotals known;
  std::vector<profile::Stack> stacks;
  for (uint32_t i = 0; i < 8; ++i) stacks.push_back(stack_of(i, 0, 0, 0));
  double shipped = 0;
  for (int look = 0; look < 50; ++look) {
    for (profile::Stack& stack : stacks) {
      if (random() % 3 == 0) continue;
      stack.values[metric_index(Metric::kAllocObjects)] += static_cast<double>(random() % 10);
      stack.values[metric_index(Metric::kAllocSpace)] += static_cast<double>(random() % 100'000);
    }
    profile::Profile profile = profile_of(stacks);
    shipped += static_cast<double>(take_increment(&known, &profile).bytes);
  }
  double total = 0;
  for (const profile::Stack& stack : stacks) total += stack.values[metric_index(Metric::kAllocSpace)];
  EXPECT_EQ(shipped, total);
}

TEST(AllocTotals, TheFileSaysTheSame) {
  Baseline baseline;
  baseline.time_ms = 1234567;
  baseline.processes["a.arena"] = {{1, {2, 3}}, {UINT64_MAX, {4, 5}}};
  baseline.processes["b.arena"] = {};
  const std::string bytes = encode(baseline);
  const auto read = decode_baseline(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->time_ms, 1234567);
  ASSERT_EQ(read->processes.size(), 2U);
  EXPECT_EQ(read->processes.at("a.arena").at(UINT64_MAX).bytes, 5);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_baseline(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_baseline(bytes + "x"));
  EXPECT_FALSE(decode_baseline("{\"version\":2,\"time_ms\":1,\"processes\":[]}\n"));
  EXPECT_FALSE(decode_baseline("[]\n"));
}

}  // namespace
}  // namespace memprof::cli
