// SPDX-License-Identifier: Apache-2.0
// Estimates of what is in memory of live blocks (profile/model/estimate.h).
#include <gtest/gtest.h>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

TEST(Estimate, what_is_in_memory_is_as_far_off_as_what_lives_at_most) {
  Stack stack;
  stack.has_statistics = true;
  stack.live = {{1024, kTestRate, 40}};
  const double live = estimated_value(stack, Metric::kInuseSpace);
  stack.values[metric_index(Metric::kResidentSpace)] = live / 4;
  stack.values[metric_index(Metric::kResidentObjects)] = live / 1024 / 2;
  EXPECT_EQ(estimated_value(stack, Metric::kResidentSpace), live / 4);
  Accumulator sum;
  sum.add(stack);
  const Estimate of_live = sum.estimate(Metric::kInuseSpace);
  const Estimate resident = sum.estimate(Metric::kResidentSpace);
  EXPECT_TRUE(resident.has_interval);
  EXPECT_NEAR(resident.value, live / 4, 1e-6 * live);
  EXPECT_NEAR(resident.high - resident.value, of_live.high - of_live.value, 1e-6 * live);
  EXPECT_GE(resident.low, 0);
  EXPECT_LT(resident.low, resident.value);
  EXPECT_NEAR(sum.estimate(Metric::kResidentObjects).value, live / 2048, 1e-6 * live);
  // Nothing of it in memory, and no interval where every allocation is recorded.
  Stack absent;
  absent.has_statistics = true;
  absent.live = {{1024, kTestRate, 40}};
  Accumulator none;
  none.add(absent);
  EXPECT_EQ(none.estimate(Metric::kResidentSpace).high, 0);
  Stack exact;
  exact.has_statistics = true;
  exact.live = {{4096, 0, 2}};
  exact.values[metric_index(Metric::kResidentSpace)] = 4096;
  Accumulator all;
  all.add(exact);
  EXPECT_EQ(all.estimate(Metric::kResidentSpace).low, 4096);
  EXPECT_EQ(all.estimate(Metric::kResidentSpace).high, 4096);
}

}  // namespace
}  // namespace memprof::profile
