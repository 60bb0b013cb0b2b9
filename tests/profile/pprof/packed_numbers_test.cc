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

TEST(PackedNumbers, SharesAreOfSamplesThatAreAlike) {
  constexpr uint64_t kRate = 4096;
  const Totals freed = totals_of({64, kRate, 1}, 10);
  const Lifetime share = packed::share_of(freed, 5, 4);
  EXPECT_EQ(share.lifetime_class, 5u);
  EXPECT_EQ(share.samples, 4u);
  EXPECT_EQ(share.size_bytes, 256u);
  EXPECT_NEAR(share.weight_bytes, 0.4 * freed.weight_bytes, 1e-6 * freed.weight_bytes);
  EXPECT_TRUE(packed::follows(freed, share));
  Lifetime other = share;
  other.size_bytes += 1;
  EXPECT_FALSE(packed::follows(freed, other));
  other = share;
  other.weight_count *= 1.0001;
  EXPECT_FALSE(packed::follows(freed, other));
  other = share;
  other.samples = 11;  // more than there were
  EXPECT_FALSE(packed::follows(freed, other));
  other.samples = 0;
  EXPECT_FALSE(packed::follows(freed, other));
  const Birth birth = packed::share_of_births(freed, 3, 10);
  EXPECT_EQ(birth.weight_bytes, packed::of_float_bits(packed::float_bits(freed.weight_bytes)));
  EXPECT_TRUE(packed::follows(freed, birth));
  EXPECT_FALSE(packed::follows(freed, Birth{3, 10, 2 * freed.weight_bytes, freed.weight_count}));
}

TEST(PackedNumbers, SamplesOfOneSizeFollowFromIt) {
  constexpr uint64_t kRate = 4096;
  const Totals whole = totals_of({100, kRate, 1}, 3);
  const Lifetime lifetime = packed::alike(2, 3, 300, kRate);
  EXPECT_NEAR(lifetime.weight_bytes, whole.weight_bytes, 1e-6 * whole.weight_bytes);
  EXPECT_TRUE(packed::is_alike(lifetime, kRate));
  EXPECT_FALSE(packed::is_alike(lifetime, 2 * kRate));
  for (const auto& [samples, size] : {std::pair{uint64_t{0}, uint64_t{300}}, {3, 0}, {3, 301}}) {
    Lifetime none = lifetime;
    none.samples = samples;
    none.size_bytes = size;
    EXPECT_FALSE(packed::is_alike(none, kRate)) << samples << " " << size;
  }
}

TEST(PackedNumbers, TheSameIsTheSameToTheLastBit) {
  Totals allocated = totals_of({100, 4096, 1}, 3);
  Totals freed = packed::without_variances(allocated);
  EXPECT_TRUE(packed::is_same(allocated, freed));
  freed.weight_bytes = std::nextafter(freed.weight_bytes, 0.0);
  EXPECT_FALSE(packed::is_same(allocated, freed));
}

}  // namespace
}  // namespace memprof::profile
