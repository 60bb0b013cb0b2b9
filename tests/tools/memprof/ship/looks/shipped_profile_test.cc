// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/shipped_profile.h"

#include <gtest/gtest.h>

#include "profile/files/gzip.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;

profile::Profile profile_with(size_t stacks) {
  profile::Profile profile;
  for (size_t i = 0; i < profile::kFirstMetrics; ++i) profile.has_metric[i] = true;
  for (size_t i = 0; i < stacks; ++i) {
    const std::string name = "function_" + std::to_string(i);
    profile.functions.push_back({name, name, "file.c", 1});
    profile.locations.push_back({0x1000 + i, profile::kNoMapping, false, {{static_cast<uint32_t>(i), 1}}});
    profile::Stack stack;
    stack.locations = {static_cast<uint32_t>(i)};
    stack.values[metric_index(Metric::kAllocSpace)] = static_cast<double>(i + 1);
    stack.values[metric_index(Metric::kInuseSpace)] = static_cast<double>(2 * i + 1);
    profile.stacks.push_back(stack);
  }
  return profile;
}

double sum_of(const profile::Profile& profile, Metric metric) {
  double sum = 0;
  for (const profile::Stack& stack : profile.stacks) sum += stack.values[metric_index(metric)];
  return sum;
}

TEST(ShippedProfile, SmallStacksAreOneAndSumsStay) {
  const profile::Profile whole = profile_with(1000);
  ShippedLimits limits;
  limits.max_stacks = 10;
  const ShippedProfile shipped = write_shipped(whole, limits);
  EXPECT_EQ(shipped.folded_stacks, 991U);
  const profile::Profile read = profile::read_pprof(shipped.pprof, "shipped");
  EXPECT_EQ(read.stacks.size(), 10U);
  EXPECT_EQ(sum_of(read, Metric::kAllocSpace), sum_of(whole, Metric::kAllocSpace));
  EXPECT_EQ(sum_of(read, Metric::kInuseSpace), sum_of(whole, Metric::kInuseSpace));
  bool has_largest = false;
  bool has_small = false;
  for (const profile::Function& function : read.functions) {
    has_largest |= function.name == "function_999";
    has_small |= function.name == "(small stacks)";
  }
  EXPECT_TRUE(has_largest);
  EXPECT_TRUE(has_small);
}

// Pyroscope leaves out what has no name, and stacks of nothing else.
TEST(ShippedProfile, CodeWithoutANameHasItsPlace) {
  profile::Profile whole = profile_with(1);
  whole.mappings = {{0x1000, 0x9000, 0, "/usr/bin/stripped", "", false, false, false, false}};
  whole.locations[0] = {0x1233, 0, false, {}};
  const profile::Profile read = profile::read_pprof(write_shipped(whole).pprof, "shipped");
  ASSERT_EQ(read.locations.at(0).lines.size(), 1U);
  EXPECT_EQ(read.functions.at(read.locations[0].lines[0].function).name, "stripped+0x233");
}

TEST(ShippedProfile, BytesAreLimitedToo) {
  ShippedLimits limits;
  limits.max_bytes = 10'000;
  const profile::Profile whole = profile_with(1000);
  const ShippedProfile shipped = write_shipped(whole, limits);
  EXPECT_LE(profile::gunzip(shipped.pprof, "shipped", 1 << 20).size(), limits.max_bytes);
  EXPECT_GT(shipped.folded_stacks, 0U);
  EXPECT_EQ(sum_of(profile::read_pprof(shipped.pprof, "shipped"), Metric::kAllocSpace),
            sum_of(whole, Metric::kAllocSpace));
}

TEST(ShippedProfile, StacksWithNothingAreLeftOut) {
  profile::Profile profile = profile_with(3);
  profile.stacks[1].values = {};
  const profile::Profile read = profile::read_pprof(write_shipped(profile).pprof, "shipped");
  EXPECT_EQ(read.stacks.size(), 2U);
  EXPECT_EQ(read.functions.size(), 2U);
}

}  // namespace
}  // namespace memprof::cli
