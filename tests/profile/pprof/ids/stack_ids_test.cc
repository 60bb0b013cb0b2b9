// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/ids/stack_ids.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

// Four stacks: the first and the third have the same addresses, in locations of their own.
Profile four_stacks() {
  Profile profile;
  profile.locations.resize(3);
  profile.locations[0].address = 0x1000;
  profile.locations[1].address = 0x2000;
  profile.locations[2].address = 0x1000;
  profile.stacks.resize(4);
  profile.stacks[0].locations = {0};
  profile.stacks[1].locations = {1};
  profile.stacks[2].locations = {2};
  profile.stacks[3].locations = {1, 0};
  for (size_t i = 0; i < profile.stacks.size(); ++i)
    profile.stacks[i].values[0] = static_cast<double>(1 << i);
  return profile;
}

TEST(StackIds, stacks_of_one_id_are_added_to_the_first) {
  Profile profile = four_stacks();
  std::vector<uint32_t> samples = {1, 2, 3, 4};
  const std::vector<uint64_t> before = stack_ids(profile);
  EXPECT_EQ(before[0], before[2]);
  const std::vector<StackOfId> ids = unite_stacks(profile, &samples);
  ASSERT_EQ(profile.stacks.size(), 3u);
  EXPECT_EQ(profile.stacks[0].values[0], 5);
  EXPECT_EQ(profile.stacks[1].values[0], 2);
  EXPECT_EQ(profile.stacks[2].values[0], 8);
  EXPECT_EQ(samples, (std::vector<uint32_t>{4, 2, 4}));
  const std::vector<uint64_t> after = stack_ids(profile);
  ASSERT_EQ(ids.size(), 3u);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i].id, after[ids[i].stack]);
    if (i != 0) {
      EXPECT_LT(ids[i - 1].id, ids[i].id);
    }
  }
}

TEST(StackIds, a_profile_without_stacks_has_none) {
  Profile profile;
  std::vector<uint32_t> samples;
  EXPECT_TRUE(unite_stacks(profile, &samples).empty());
}

TEST(StackIds, heaps_and_processes_are_told_apart) {
  Profile profile = four_stacks();
  profile.stacks[2].heap = "pool";
  std::vector<uint32_t> samples(4, 1);
  EXPECT_EQ(unite_stacks(profile, &samples).size(), 4u);
}

}  // namespace
}  // namespace memprof::profile
