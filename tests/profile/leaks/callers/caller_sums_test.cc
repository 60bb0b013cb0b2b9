// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/callers/caller_sums.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

// Exact: each sample is a block of 1,000 bytes.
Stack stack_of(uint64_t allocated, uint64_t live) {
  Stack stack;
  stack.has_statistics = true;
  stack.allocated.samples = allocated;
  stack.allocated.weight_bytes = 1000.0 * static_cast<double>(allocated);
  if (live != 0) stack.live = {{1000, 1, live}};
  return stack;
}

std::vector<GroupedFrame> frames_of(std::initializer_list<uint32_t> groups) {
  std::vector<GroupedFrame> frames;
  for (const uint32_t group : groups) {
    GroupedFrame frame;
    frame.group = group;
    frames.push_back(frame);
  }
  return frames;
}

TEST(CallerSums, is_that_of_the_caller_which_keeps_least) {
  CallerSums sums;
  sums.add(stack_of(100, 100), frames_of({0, 1, 9}));         // what leaks
  sums.add(stack_of(900, 0), frames_of({2, 1, 9}));           // another function of the same caller
  sums.add(stack_of(1000, 1000), frames_of({3, 9}));          // tables
  EXPECT_DOUBLE_EQ(sums.min_kept_share({0}), 1100.0 / 2000);  // of all
  EXPECT_DOUBLE_EQ(sums.min_kept_share({0, 1, 9}), 0.1);
  EXPECT_DOUBLE_EQ(sums.min_kept_share({3, 9}), 1100.0 / 2000);
}

TEST(CallerSums, counts_a_recursive_function_once) {
  CallerSums sums;
  sums.add(stack_of(100, 50), frames_of({0, 1, 0, 1, 0}));
  EXPECT_DOUBLE_EQ(sums.min_kept_share({0}), 0.5);
}

TEST(CallerSums, few_samples_tell_nothing) {
  CallerSums sums;
  EXPECT_EQ(sums.min_kept_share({}), 1);
  EXPECT_EQ(sums.min_kept_share({7}), 1);
  sums.add(stack_of(20, 0), frames_of({0}));
  EXPECT_EQ(sums.min_kept_share({0}), 1);
}

TEST(CallerSums, groups_are_each_there_once) {
  EXPECT_EQ(groups_of(frames_of({5, 2, 5, 5, 2})), (std::vector<uint32_t>{2, 5}));
}

}  // namespace
}  // namespace memprof::profile
