// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/collapsed.h"

#include <gtest/gtest.h>

#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

TEST(Collapsed, one_line_a_stack_root_first_and_sorted) {
  // A `;` in a name may not look like a separator.
  EXPECT_EQ(write_collapsed(named_profile()),
            "libc.so.6+0x1000;main;ns::make<int: char>(int);inner 4200616\n"
            "main;0x12345 3153545\n");
}

TEST(Collapsed, writes_the_metric_that_was_asked_for) {
  EXPECT_EQ(write_collapsed(named_profile(), Metric::kAllocObjects),
            "libc.so.6+0x1000;main;ns::make<int: char>(int);inner 49541\n"
            "main;0x12345 3\n");
}

TEST(Collapsed, by_line_frames_have_theirs) {
  EXPECT_EQ(write_collapsed(named_profile(), Metric::kInuseSpace, GroupBy::kLine),
            "libc.so.6+0x1000;main:12;ns::make<int: char>(int):30;inner:7 4200616\n"
            "main:12;0x12345 3153545\n");
}

TEST(Collapsed, equal_names_are_added_and_zeros_left_out) {
  Profile profile = named_profile();
  profile.locations.push_back({0x402010, 0, false, {{0, 99}}});  // main at another line
  Stack stack;
  stack.locations = {3, 4};
  stack.values = {0, 0, 1, 100};
  profile.stacks[0].live.clear();
  profile.stacks.push_back(stack);
  EXPECT_EQ(write_collapsed(profile), "main;0x12345 3153645\n");
}

TEST(Collapsed, what_is_less_in_a_difference_has_its_sign) {
  Profile profile = named_profile();
  profile.stacks[0] = Stack();
  profile.stacks[0].locations = {1};
  profile.stacks[0].values = {0, 0, -5, -5000};
  EXPECT_EQ(write_collapsed(profile), "main -5000\nmain;0x12345 3153545\n");
}

TEST(Collapsed, a_line_break_in_a_name_does_not_break_the_line) {
  Profile profile = named_profile();
  profile.functions[0].name = "ma\nin";
  profile.stacks.erase(profile.stacks.begin());
  EXPECT_EQ(write_collapsed(profile), "ma in;0x12345 3153545\n");
}

TEST(Collapsed, nothing_for_an_empty_profile) {
  EXPECT_EQ(write_collapsed(Profile()), "");
}

TEST(Collapsed, a_heap_is_the_outermost_frame) {
  Profile profile = named_profile();
  profile.stacks.push_back(profile.stacks[1]);
  profile.stacks[1].heap = "pool;a";
  EXPECT_EQ(write_collapsed(profile),
            "[heap pool:a];main;0x12345 3153545\n"
            "libc.so.6+0x1000;main;ns::make<int: char>(int);inner 4200616\n"
            "main;0x12345 3153545\n");
}

}  // namespace
}  // namespace memprof::profile
