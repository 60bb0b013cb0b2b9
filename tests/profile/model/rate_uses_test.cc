// SPDX-License-Identifier: Apache-2.0
#include "profile/model/rate_uses.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(RateUses, AreAddedByTheirRate) {
  const std::vector<RateUse> sum =
      add_rates({{8192, 1, 2}, {4096, 3, 4}}, {{8192, 10, 20}, {100, UINT64_MAX, 5}});
  ASSERT_EQ(3u, sum.size());
  EXPECT_EQ(100u, sum[0].rate_bytes);
  EXPECT_EQ(4096u, sum[1].rate_bytes);
  EXPECT_EQ(8192u, sum[2].rate_bytes);
  EXPECT_EQ(11u, sum[2].weight_bytes);
  EXPECT_EQ(22u, sum[2].time_ns);
  EXPECT_EQ(UINT64_MAX, add_rates(sum, sum)[0].weight_bytes);
}

TEST(RateUses, OfAProfileWithoutAListAreTheOne) {
  Profile profile;
  profile.rate_bytes = 512;
  profile.duration_ns = 9;
  profile.stacks.resize(2);
  profile.stacks[0].allocated.weight_bytes = 1000;
  profile.stacks[1].allocated.weight_bytes = 24;
  const std::vector<RateUse> uses = rates_of(profile);
  ASSERT_EQ(1u, uses.size());
  EXPECT_EQ(512u, uses[0].rate_bytes);
  EXPECT_EQ(1024u, uses[0].weight_bytes);
  EXPECT_EQ(9u, uses[0].time_ns);
  EXPECT_EQ(512u, coarsest_rate(profile));
}

TEST(RateUses, TheCoarsestIsThatOfTheListOrTheLast) {
  Profile profile;
  profile.rate_bytes = 512;
  profile.rates = {{64, 1, 1}, {4096, 1, 1}};
  EXPECT_EQ(4096u, coarsest_rate(profile));
  profile.rate_bytes = 8192;
  EXPECT_EQ(8192u, coarsest_rate(profile));
}

}  // namespace
}  // namespace memprof::profile
