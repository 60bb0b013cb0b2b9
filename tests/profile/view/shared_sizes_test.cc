// SPDX-License-Identifier: Apache-2.0
#include "profile/view/shared_sizes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

// Of so many sizes from 1 to `largest`, all different but by chance.
Stack stack_of(size_t sizes, double largest, uint64_t rate, uint32_t seed) {
  std::mt19937 random(seed);
  Stack stack;
  stack.has_statistics = true;
  for (size_t i = 0; i < sizes; ++i) {
    const double part = static_cast<double>(random()) / 4294967296.0;
    stack.live.push_back(
        {static_cast<uint64_t>(std::exp(part * std::log(largest))) + 1, rate, 1 + random() % 3});
  }
  return stack;
}

Accumulator sum_of(const std::vector<Stack>& stacks) {
  Accumulator sum;
  for (const Stack& stack : stacks) sum.add(stack);
  return sum;
}

// The bytes are right to one of all stacks together, and the blocks to a part of one in a million; intervals hardly
// change.
TEST(SharedSizes, SumsStayWhatTheyAre) {
  for (const uint64_t rate : {uint64_t{0}, uint64_t{512}, uint64_t{65536}, uint64_t{524288}}) {
    SizeSharing sharing;
    std::vector<Stack> before, after;
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      before.push_back(stack_of(5000, 1e8, rate, seed));
      after.push_back(before.back());
      after.back().live = sharing.shared(before.back().live);
      EXPECT_LT(after.back().live.size(), before.back().live.size() * 55 / 100);
      uint64_t samples = 0;
      for (const LiveGroup& group : before.back().live) samples += group.samples;
      for (const LiveGroup& group : after.back().live) samples -= group.samples;
      EXPECT_EQ(samples, 0u);
    }
    const Accumulator right = sum_of(before), shared = sum_of(after);
    EXPECT_NEAR(shared.value(Metric::kInuseSpace), right.value(Metric::kInuseSpace),
                0.6 + 1e-13 * right.value(Metric::kInuseSpace))
        << rate;
    EXPECT_NEAR(shared.value(Metric::kInuseObjects), right.value(Metric::kInuseObjects),
                1e-5 * right.value(Metric::kInuseObjects))
        << rate;
    // What they are off is known.
    EXPECT_NEAR(shared.value(Metric::kInuseObjects) + sharing.missing_blocks(),
                right.value(Metric::kInuseObjects), 1e-3 + 1e-12 * right.value(Metric::kInuseObjects));
    EXPECT_NEAR(shared.value(Metric::kInuseSpace) + sharing.missing_bytes(), right.value(Metric::kInuseSpace),
                1e-3 + 1e-12 * right.value(Metric::kInuseSpace));
    const Estimate expected = right.estimate(Metric::kInuseSpace);
    const Estimate estimate = shared.estimate(Metric::kInuseSpace);
    EXPECT_NEAR(estimate.low, expected.low, 1e-3 * expected.low);
    EXPECT_NEAR(estimate.high, expected.high, 1e-3 * expected.high);
  }
}

TEST(SharedSizes, FewSizesAreKept) {
  const Stack stack = stack_of(kMaxOwnSizes, 100000, 512, 1);
  const std::vector<LiveGroup> groups = SizeSharing().shared(stack.live);
  ASSERT_EQ(groups.size(), kMaxOwnSizes);
  for (size_t i = 0; i < groups.size(); ++i) EXPECT_EQ(groups[i].size_bytes, stack.live[i].size_bytes);
}

TEST(SharedSizes, RatesStayApartAndSizesStayWhereTheyWere) {
  std::vector<LiveGroup> groups;
  for (uint64_t i = 0; i < 100; ++i) {
    groups.push_back({100000 + i, 1024, 1});
    groups.push_back({100000 + i, 524288, 1});
  }
  const std::vector<LiveGroup> shared = SizeSharing().shared(groups);
  EXPECT_LE(shared.size(), 12u);
  for (const LiveGroup& group : shared) {
    EXPECT_GE(group.size_bytes, 100000u);
    EXPECT_LE(group.size_bytes, 100101u);
  }
}

}  // namespace
}  // namespace memprof::profile
