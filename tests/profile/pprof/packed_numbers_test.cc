// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/packed_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profile/model/sample_kind.h"

namespace memprof::profile {
namespace {

TEST(PackedNumbers, ShortOnesAreRightToHalfAThousandthAndStaySo) {
  EXPECT_EQ(0u, packed::short_code(0));
  EXPECT_EQ(0u, packed::short_code(0.49));
  EXPECT_EQ(0u, packed::short_code(NAN));
  for (double value = 0.5; value < 0x1p62; value *= 1.37) {
    const double read = packed::short_value(packed::short_code(value));
    EXPECT_NEAR(value, read, value * 0.0005) << value;
    EXPECT_EQ(packed::short_code(value), packed::short_code(read)) << value;
  }
  EXPECT_EQ(65535u, packed::short_code(1e300));
}

TEST(PackedNumbers, SumsOfOneKindFollowFromIt) {
  constexpr uint64_t kRate = 4096;
  const SampleKind kind{64, kRate, 1};
  const Totals whole = totals_of(kind, 7);
  const Totals read = packed::rounded(whole, kRate);
  EXPECT_EQ(whole.weight_bytes, read.weight_bytes);
  EXPECT_EQ(whole.variance_bytes, read.variance_bytes);
  EXPECT_EQ(kind.size_bytes, packed::smallest_of(whole, kRate)->size_bytes);
  Totals maxima;
  packed::set_maxima(kind, &maxima);
  EXPECT_EQ(whole.max_missed_bytes, maxima.max_missed_bytes);
  const Totals freed = packed::without_variances(whole);
  EXPECT_EQ(0, freed.variance_bytes);
  EXPECT_EQ(0, freed.max_missed_count);
  ASSERT_TRUE(packed::freed_kind(freed, kRate));
  EXPECT_EQ(kind.size_bytes, packed::freed_kind(freed, kRate)->size_bytes);
  Totals mixed = freed;
  mixed.size_bytes += 1;
  EXPECT_FALSE(packed::freed_kind(mixed, kRate));
  EXPECT_FALSE(packed::freed_kind(Totals{}, kRate));
}

TEST(PackedNumbers, SumsOfSeveralKindsLoseDigitsOfTheirVariancesOnly) {
  constexpr uint64_t kRate = 4096;
  Totals mixed = totals_of({64, kRate, 1}, 3);
  mixed.size_bytes += 1000;
  mixed.variance_bytes = 1e200;  // its root is within the exponents, itself it is not
  const Totals read = packed::rounded(mixed, kRate);
  EXPECT_EQ(mixed.weight_bytes, read.weight_bytes);
  EXPECT_EQ(mixed.size_bytes, read.size_bytes);
  EXPECT_GT(read.variance_bytes, 0);
  EXPECT_EQ(read.variance_count, packed::rounded(read, kRate).variance_count);
}

TEST(PackedNumbers, FloatsAreTheNearest) {
  EXPECT_EQ(0x3fc00000u, packed::float_bits(1.5));
  EXPECT_EQ(1.5, packed::of_float_bits(0x3fc00000u));
  EXPECT_EQ(static_cast<double>(0.1F), packed::of_float_bits(packed::float_bits(0.1)));
}

TEST(PackedNumbers, AClassStandsForItselfWhereItsWeightsAreItsSizes) {
  Lifetime lifetime;
  lifetime.samples = 2;
  lifetime.size_bytes = 32;
  lifetime.weight_bytes = 32;
  lifetime.weight_count = 2;
  EXPECT_TRUE(packed::stands_for_itself(lifetime));
  lifetime.weight_count = 3;
  EXPECT_FALSE(packed::stands_for_itself(lifetime));
}

}  // namespace
}  // namespace memprof::profile
