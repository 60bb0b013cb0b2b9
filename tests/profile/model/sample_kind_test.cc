// SPDX-License-Identifier: Apache-2.0
#include "profile/model/sample_kind.h"

#include <gtest/gtest.h>

#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

void expect_near(const Totals& a, const Totals& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.size_bytes, b.size_bytes);
  EXPECT_DOUBLE_EQ(a.weight_bytes, b.weight_bytes);
  EXPECT_DOUBLE_EQ(a.weight_count, b.weight_count);
  for (const auto member : {&Totals::variance_bytes, &Totals::variance_count, &Totals::max_missed_bytes,
                            &Totals::max_missed_count}) {
    EXPECT_NEAR(a.*member, b.*member, 1e-9 * (1 + b.*member));
  }
}

TEST(SampleKind, SumsOfOneSizeAreTold) {
  for (const uint64_t rate : {uint64_t{0}, kTestRate}) {
    for (const uint64_t size :
         {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{1} << 20, uint64_t{1} << 40}) {
      Totals totals;
      add_samples(totals, size, 7, rate);
      const auto kind = kind_of(totals, rate);
      ASSERT_TRUE(kind) << size;
      EXPECT_EQ(kind->size_bytes, size);
      EXPECT_EQ(kind->share, 1u);
      expect_near(totals_of(*kind, 7), totals);
    }
  }
}

// The probabilities of both are 1 in a double; the rates are not the same.
TEST(SampleKind, LargeBlocksOfAnotherRateAreNot) {
  Totals totals;
  add_samples(totals, 100 * kTestRate, 1, kTestRate / 4);
  EXPECT_FALSE(kind_of(totals, kTestRate));
  const auto kind = kind_of(totals, kTestRate / 4);
  ASSERT_TRUE(kind);
  EXPECT_GT(totals_of(*kind, 1).max_missed_count, 0);
}

TEST(SampleKind, EverySecondSampleOfThePeak) {
  const SampleKind half{64, kTestRate, 2};
  const auto kind = kind_of(totals_of(half, 3), kTestRate);
  ASSERT_TRUE(kind);
  EXPECT_EQ(kind->share, 2u);
}

TEST(SampleKind, SumsOfSeveralSizesOrOtherRatesAreNot) {
  Totals totals;
  add_samples(totals, 64, 1);
  add_samples(totals, 128, 2);
  add_samples(totals, 64, 1);  // 96 on average
  EXPECT_FALSE(kind_of(totals, kTestRate));
  Totals other;
  add_samples(other, 64, 2, kTestRate / 2);
  EXPECT_FALSE(kind_of(other, kTestRate));
  EXPECT_FALSE(kind_of(Totals(), kTestRate));
}

}  // namespace
}  // namespace memprof::profile
