// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/site_lives.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(SiteLives, stacks_add_up) {
  Stack stack;
  stack.allocated.samples = 7;
  stack.freed.samples = 4;
  stack.lifetimes = {{0, 5, 4, 400, 4000, 40}};
  stack.births = {{2, 3, 3000, 30}};
  stack.live = {{100, 0, 3}};
  SiteLives lives;
  lives.run_ns = 16e9;
  lives.add(stack);
  lives.add(stack);
  EXPECT_EQ(lives.freed[5].samples, 8);
  EXPECT_EQ(lives.freed[5].blocks, 80);
  EXPECT_EQ(lives.all_freed().bytes, 8000);
  EXPECT_EQ(lives.living[2].samples, 6);
  EXPECT_EQ(lives.all_living().bytes, 6000);
  EXPECT_EQ(lives.spread_of_bytes(), 1);
}

// A process that ends by itself frees what its profile has as live: ten blocks, of ages from 0 to 16 s.
TEST(SiteLives, what_the_end_freed_is_no_lifetime) {
  Stack stack;
  stack.allocated.samples = 30;
  stack.freed.samples = 30;
  stack.lifetimes = {{0, 5, 20, 2000, 2000, 20}, {0, 14, 7, 700, 700, 7}, {0, 15, 3, 300, 300, 3}};
  stack.births = {{0, 3, 300, 3}, {8, 7, 700, 7}};
  SiteLives lives;
  lives.run_ns = 16e9;
  lives.add(stack);
  EXPECT_EQ(lives.freed[5].samples, 20);
  EXPECT_NEAR(lives.freed[14].samples, 0, 1e-9);
  EXPECT_NEAR(lives.freed[15].blocks, 0, 1e-9);
  EXPECT_TRUE(lives.is_corrected);
  // A library of today gives it no lifetime: nothing is to be taken out.
  Stack today = stack;
  today.lifetimes = {{0, 5, 20, 2000, 2000, 20}};
  SiteLives exact;
  exact.run_ns = 16e9;
  exact.add(today);
  EXPECT_EQ(exact.freed[5].samples, 20);
  EXPECT_FALSE(exact.is_corrected);
  // What lives and was not freed at the end either is left alone.
  stack.allocated.samples = 40;
  SiteLives kept;
  kept.run_ns = 16e9;
  kept.add(stack);
  EXPECT_EQ(kept.freed[14].samples, 7);
}

TEST(SiteLives, spread_is_of_unequal_blocks) {
  Stack stack;
  stack.live = {{1, 0, 99}, {1'000'000, 0, 1}};
  stack.births = {{0, 100, 1'000'099, 100}};
  SiteLives lives;
  lives.run_ns = 1e9;
  lives.add(stack);
  EXPECT_NEAR(lives.spread_of_bytes(), 100, 0.1);  // one block has all the bytes
  EXPECT_EQ(lives.spread_of_blocks(), 1);
}

TEST(SiteLives, ages_by_load_are_those_of_when_it_ended) {
  LoadTimes load;
  load.bytes = 1;
  for (uint32_t part = 0; part <= kBirthParts; ++part)
    load.at_ns[part] = uint64_t{1'000'000'000} * part * part;
  SiteLives lives;
  EXPECT_FALSE(lives.is_by_load());
  lives.count_by(load);
  EXPECT_TRUE(lives.is_by_load());
  EXPECT_DOUBLE_EQ(lives.run_ns, 256e9);
  EXPECT_DOUBLE_EQ(lives.age_ns(0), 0);
  EXPECT_DOUBLE_EQ(lives.youngest_ns(15), 0);
  EXPECT_DOUBLE_EQ(lives.oldest_ns(15), (256 - 225) * 1e9);
  EXPECT_DOUBLE_EQ(lives.oldest_ns(0), 256e9);
  Stack stack;
  stack.births = {{0, 3, 300, 3}};
  stack.load_births = {{7, 3, 300, 3}};
  lives.add(stack);
  EXPECT_EQ(lives.living[7].samples, 3);
  EXPECT_EQ(lives.living[0].samples, 0);
  stack.load_births.clear();  // of a process that was never idle
  lives.add(stack);
  EXPECT_EQ(lives.living[0].samples, 3);
}

TEST(SiteLives, parts_that_begin_at_one_moment_have_a_length) {
  LoadTimes load;
  load.bytes = 1;
  for (uint32_t part = 1; part <= kBirthParts; ++part)
    load.at_ns[part] = part < 9 ? 5'000'000'000 : 6'000'000'000;
  SiteLives lives;
  lives.count_by(load);
  for (uint32_t part = 0; part < kBirthParts; ++part) {
    EXPECT_GT(lives.oldest_ns(part), lives.youngest_ns(part)) << part;
  }
}

}  // namespace
}  // namespace memprof::profile
