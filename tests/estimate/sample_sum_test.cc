// SPDX-License-Identifier: Apache-2.0
#include "estimate/sample_sum.h"

#include <gtest/gtest.h>

#include <cmath>

namespace memprof::sample_sum_test {
namespace {

constexpr uint64_t kRate = 512 * 1024;

void expect_same(const Bounds& a, const Bounds& b) {
  EXPECT_DOUBLE_EQ(a.value, b.value);
  EXPECT_DOUBLE_EQ(a.low, b.low);
  EXPECT_DOUBLE_EQ(a.high, b.high);
}

// As the engine keeps it, of samples of one size.
SampleTotals totals_of(double size, double n) {
  const double p = -std::expm1(-size / kRate);
  SampleTotals t;
  t.samples = static_cast<uint64_t>(n);
  t.size_bytes = static_cast<uint64_t>(n * size);
  t.weight_bytes = n * size / p;
  t.weight_count = n / p;
  t.variance_bytes = n * (1 - p) * size * size / p / p;
  t.variance_count = n * (1 - p) / p / p;
  t.max_missed_bytes = (1 - p) * size / p;
  t.max_missed_count = (1 - p) / p;
  return t;
}

TEST(SampleSum, WhatIsAlwaysRecordedIsExact) {
  SampleSum sum;
  sum.add(100, 0, 3);
  sum.add(7, 1, 2);
  expect_same(sum.bytes(), {314, 314, 314});
  expect_same(sum.blocks(), {5, 5, 5});
  expect_same(SampleSum().bytes(), {0, 0, 0});
}

TEST(SampleSum, TheValueIsTheSumOfWeightsAndLiesInTheInterval) {
  SampleSum sum;
  double weight = 0;
  for (const uint64_t size : {16u, 4096u, 300000u, 2000000u}) {
    sum.add(size, kRate, 3);
    weight += 3 * static_cast<double>(size) / sampling_probability(size, kRate);
  }
  const Bounds bytes = sum.bytes();
  EXPECT_NEAR(weight, bytes.value, 1e-9 * weight);
  EXPECT_GT(bytes.low, 3.0 * 2304112 - 1);  // what the samples show
  EXPECT_LT(bytes.low, 0.8 * weight);
  EXPECT_GT(bytes.high, 1.2 * weight);
}

TEST(SampleSum, TotalsOfOneSizeSayWhatItsSamplesSay) {
  SampleSum samples, totals;
  samples.add(4096, kRate, 12);
  totals.add(totals_of(4096, 12));
  EXPECT_NEAR(samples.bytes().low, totals.bytes().low, 1e-5 * totals.bytes().low);
  EXPECT_NEAR(samples.bytes().high, totals.bytes().high, 1e-5 * totals.bytes().high);
  EXPECT_NEAR(samples.blocks().high, totals.blocks().high, 1e-5 * totals.blocks().high);
}

TEST(SampleSum, OrderAndPartsDoNotMatter) {
  SampleSum a, b;
  a.add(64, kRate, 5);
  a.add(1 << 20, kRate, 2);
  b.add(1 << 20, kRate, 1);
  b.add(64, kRate, 5);
  b.add(1 << 20, kRate, 1);
  expect_same(a.bytes(), b.bytes());
}

TEST(SampleSum, ABlockOfNoBytesIsABlock) {
  SampleSum sum;
  sum.add(0, kRate, 4);
  expect_same(sum.bytes(), {0, 0, 0});
  EXPECT_NEAR(4.0 * kRate, sum.blocks().value, 0.001 * kRate);
  EXPECT_GT(sum.blocks().high, sum.blocks().value);
}

}  // namespace
}  // namespace memprof::sample_sum_test
