// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "memprof.h"
#include "profile/model/estimate.h"

namespace memprof::estimates_test {
namespace {

constexpr uint64_t kRate = 64 * 1024;
const memprof_sample_group kGroups[] = {{48, kRate, 7}, {200000, kRate, 2}, {48, kRate, 1}, {0, kRate, 1}};

void expect_same(const profile::Estimate& expected, const memprof_estimate& got) {
  EXPECT_DOUBLE_EQ(expected.value, got.value);
  EXPECT_DOUBLE_EQ(expected.low, got.low);
  EXPECT_DOUBLE_EQ(expected.high, got.high);
}

TEST(Estimates, OfSamplesAreThoseOfReports) {
  profile::Accumulator expected;
  for (const memprof_sample_group& g : kGroups) expected.add_live({g.size_bytes, g.rate_bytes, g.samples});
  memprof_estimate bytes{};
  memprof_estimate blocks{};
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_samples(kGroups, 4, &bytes, &blocks));
  expect_same(expected.estimate(profile::Metric::kInuseSpace), bytes);
  expect_same(expected.estimate(profile::Metric::kInuseObjects), blocks);
  EXPECT_LT(bytes.low, bytes.value);
  memprof_estimate alone{};
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_samples(kGroups, 4, nullptr, &alone));
  EXPECT_EQ(blocks.high, alone.high);
}

TEST(Estimates, OfTotalsAreThoseOfReports) {
  memprof_totals totals[2] = {};
  totals[0] = {9, 9 * 48, 9.0 * kRate, 9.0 * kRate / 48, 5e10, 2e7, 65000, 1365};
  totals[1] = {2, 400000, 420000, 2.1, 1e9, 0.3, 10000, 0.05};
  profile::Accumulator expected;
  for (const memprof_totals& t : totals) {
    expected.add_allocated({t.samples, t.size_bytes, t.weight_bytes, t.weight_count, t.variance_bytes,
                            t.variance_count, t.max_missed_bytes, t.max_missed_count});
  }
  memprof_estimate bytes{};
  memprof_estimate blocks{};
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_totals(totals, 2, &bytes, &blocks));
  expect_same(expected.estimate(profile::Metric::kAllocSpace), bytes);
  expect_same(expected.estimate(profile::Metric::kAllocObjects), blocks);
}

TEST(Estimates, OfADifferenceHasTheSignOfTheChange) {
  const memprof_sample_group few{48, kRate, 2};
  const memprof_sample_group many{48, kRate, 60};
  memprof_estimate more{};
  memprof_estimate less{};
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_difference(&few, 1, &many, 1, &more, nullptr));
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_difference(&many, 1, &few, 1, &less, nullptr));
  EXPECT_GT(more.low, 0);
  EXPECT_LT(less.high, 0);
  EXPECT_DOUBLE_EQ(more.value, -less.value);
  EXPECT_NEAR(more.low, -less.high, 1e-3 * more.value);
  memprof_estimate from_nothing{};
  ASSERT_EQ(MEMPROF_OK, memprof_estimate_difference(nullptr, 0, &few, 1, nullptr, &from_nothing));
  EXPECT_LT(from_nothing.low, 0);
  EXPECT_GT(from_nothing.value, 0);
}

TEST(Estimates, AnEmptySumIsZeroAndANullArrayIsRefused) {
  memprof_estimate bytes{1, 1, 1};
  EXPECT_EQ(MEMPROF_OK, memprof_estimate_samples(nullptr, 0, &bytes, nullptr));
  EXPECT_EQ(0, bytes.high);
  bytes.value = 7;
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_estimate_samples(nullptr, 1, &bytes, nullptr));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_estimate_totals(nullptr, 1, &bytes, nullptr));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_estimate_difference(kGroups, 1, nullptr, 1, &bytes, nullptr));
  EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_estimate_difference(nullptr, 1, kGroups, 1, &bytes, nullptr));
  EXPECT_EQ(7, bytes.value);  // only written on success
}

}  // namespace
}  // namespace memprof::estimates_test
