// SPDX-License-Identifier: Apache-2.0
#include "profile/lifetimes/temporary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "profile/model/error.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/stack_sum.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMs = 1'000'000;

// Adds `samples` samples of one size that lived so long.
void add_freed(Stack* stack, uint64_t size, uint64_t samples, uint64_t lifetime_ns,
               uint64_t rate = kTestRate) {
  add_samples(stack->allocated, size, samples, rate);
  Totals freed;
  add_samples(freed, size, samples, rate);
  add_totals(freed, &stack->freed);
  add_lifetimes({{0, lifetime_class(lifetime_ns), freed.samples, freed.size_bytes, freed.weight_bytes,
                  freed.weight_count}},
                &stack->lifetimes);
}

Profile profile_of(Stack stack) {
  Profile profile;
  profile.from_memprof = true;
  profile.rate_bytes = kTestRate;
  profile.has_metric.fill(false);
  std::fill_n(profile.has_metric.begin(), kFileMetrics, true);
  stack.has_statistics = true;
  profile.stacks.push_back(std::move(stack));
  return profile;
}

Estimate temporary(const Profile& profile, Metric metric = Metric::kTemporarySpace) {
  Accumulator sum;
  for (const Stack& stack : profile.stacks) sum.add(stack);
  return sum.estimate(metric);
}

TEST(Temporary, is_what_was_freed_within_the_time) {
  Stack stack;
  add_freed(&stack, 4096, 30, kMs);
  add_freed(&stack, 4096, 5, 20 * kMs);
  Profile profile = profile_of(stack);
  EXPECT_FALSE(profile.has_metric[metric_index(Metric::kTemporarySpace)]);
  set_temporary(10 * kMs, "x.pb", &profile);
  EXPECT_EQ(profile.temporary_ns, 10 * kMs);
  EXPECT_TRUE(profile.has_metric[metric_index(Metric::kTemporarySpace)]);
  const double weight = 4096 / sampling_probability(4096, kTestRate);
  EXPECT_DOUBLE_EQ(estimated_value(profile.stacks[0], Metric::kTemporarySpace), 30 * weight);
  EXPECT_DOUBLE_EQ(estimated_value(profile.stacks[0], Metric::kTemporaryObjects), 30 * weight / 4096);
  EXPECT_NEAR(temporary(profile).value, 30 * weight, 1e-6 * weight);
  EXPECT_LT(temporary(profile).low, 25 * weight);
  EXPECT_GT(temporary(profile).high, 35 * weight);
  set_temporary(30 * kMs, "x.pb", &profile);
  EXPECT_NEAR(temporary(profile).value, 35 * weight, 1e-6 * weight);
  // A bound next to the time.
  set_temporary(12 * kMs, "x.pb", &profile);
  EXPECT_EQ(profile.temporary_ns, 10 * kMs);
}

// Of one size, the interval is that of so many samples of it.
TEST(Temporary, has_the_interval_of_its_samples) {
  Stack part;
  add_samples(part.allocated, 4096, 30);
  Stack stack;
  add_freed(&stack, 4096, 30, kMs);
  add_freed(&stack, 64, 50, 20000 * kMs);  // lived on
  Profile profile = profile_of(stack);
  set_temporary(10 * kMs, "x.pb", &profile);
  Accumulator expected;
  expected.add_allocated(part.allocated);
  const Estimate wanted = expected.estimate(Metric::kAllocSpace);
  EXPECT_NEAR(temporary(profile).low, wanted.low, 1e-6 * wanted.value);
  EXPECT_NEAR(temporary(profile).high, wanted.high, 1e-6 * wanted.value);
}

// 300 runs of blocks of five sizes, of which those that live short and those that live long are sampled by a
// clock: the mean of the estimates is within five standard errors, and the interval holds the truth in at least
// 270 (expected 285; odds of a false alarm below 1e-4, with a fixed seed: none).
TEST(Temporary, is_unbiased_and_covered_for_mixed_sizes) {
  constexpr int kRuns = 300;
  constexpr uint64_t kSizes[] = {64, 1000, 20000, 150000, 1000000};
  constexpr int kBlocks[] = {20000, 3000, 300, 40, 4};  // of each size that live short
  double truth = 0;
  for (size_t i = 0; i < std::size(kSizes); ++i) truth += static_cast<double>(kSizes[i]) * kBlocks[i];
  std::mt19937_64 random(7);
  double sum = 0;
  double squares = 0;
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    Stack stack;
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      std::binomial_distribution<uint64_t> sampled(static_cast<uint64_t>(kBlocks[i]),
                                                   sampling_probability(kSizes[i], kTestRate));
      if (const uint64_t n = sampled(random)) add_freed(&stack, kSizes[i], n, kMs);
      if (const uint64_t n = sampled(random)) add_freed(&stack, kSizes[i], n, 5000 * kMs);
    }
    Profile profile = profile_of(stack);
    set_temporary(10 * kMs, "x.pb", &profile);
    const Estimate estimate = temporary(profile);
    sum += estimate.value / truth;
    squares += estimate.value / truth * (estimate.value / truth);
    held += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  EXPECT_NEAR(mean, 1, 5 * error);
  EXPECT_LT(error, 0.03);
  EXPECT_GE(held, 270);
}

TEST(Temporary, says_what_is_not_known) {
  Stack stack;
  add_freed(&stack, 4096, 10, kMs);
  Totals late;
  add_samples(late, 4096, 3);
  add_totals(late, &stack.freed);  // no room for lifetimes
  Profile profile = profile_of(stack);
  EXPECT_NEAR(unknown_lifetime_bytes(profile), late.weight_bytes, 1e-6 * late.weight_bytes);
  stack.lifetimes.clear();
  profile = profile_of(stack);
  try {
    set_temporary(kMs, "old.pb", &profile);
    FAIL() << "of a time without lifetimes";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("old.pb: does not say how long blocks lived: an older memprof"));
  }
  profile.from_memprof = false;
  EXPECT_THROW(set_temporary(kMs, "go.pb", &profile), Error);
  profile = profile_of({});
  EXPECT_NO_THROW(set_temporary(kMs, "empty.pb", &profile));
  EXPECT_EQ(temporary(profile).value, 0);
}

TEST(LifetimeHistogram, quantiles_lie_in_their_class) {
  LifetimeHistogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.5), 0);
  histogram.add({0, lifetime_class(2 * kMs), 1, 10, 10, 90});
  histogram.add({0, lifetime_class(2000 * kMs), 1, 10, 10, 10});
  EXPECT_EQ(histogram.blocks(), 100);
  EXPECT_GT(histogram.quantile_ns(0.5), static_cast<double>(kMs));
  EXPECT_LT(histogram.quantile_ns(0.5), 3.0 * kMs);
  EXPECT_GT(histogram.quantile_ns(0.95), 1000.0 * kMs);
  EXPECT_LT(histogram.quantile_ns(0.95), 3000.0 * kMs);
}

}  // namespace
}  // namespace memprof::profile
