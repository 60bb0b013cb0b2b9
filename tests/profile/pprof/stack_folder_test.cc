// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/stack_folder.h"

#include <gtest/gtest.h>

#include <utility>

#include "profile/pprof/ids/location_reader.h"

namespace memprof::profile {
namespace {

void add(StackFolder& folder, const std::vector<uint32_t>& locations, std::vector<Label> labels,
         const std::array<double, kMetricCount>& values) {
  folder.add(locations, stack_hash_of(locations), std::move(labels), values);
}

TEST(StackFolder, one_stack_for_the_same_locations_and_one_part_for_the_same_labels) {
  std::vector<Stack> stacks;
  ReadBudget budget(1 << 20);
  StackFolder folder(stacks, budget);
  const Label small{"bytes", "", 16, "bytes"};
  const Label large{"bytes", "", 64, "bytes"};
  add(folder, {1, 2}, {small}, {1, 2, 3, 4});
  add(folder, {2, 1}, {small}, {5, 5, 5, 5});
  add(folder, {1, 2}, {large}, {10, 20, 30, 40});
  add(folder, {1, 2}, {small}, {1, 1, 1, 1});
  add(folder, {1, 2}, {}, {0, 0, 0, -1});
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].locations, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(stacks[0].values, (std::array<double, kMetricCount>{12, 23, 34, 44}));
  ASSERT_EQ(stacks[0].parts.size(), 3u);
  EXPECT_EQ(stacks[0].parts[0].values, (std::array<double, kMetricCount>{2, 3, 4, 5}));
  EXPECT_EQ(stacks[0].parts[1].labels[0].number, 64);
  EXPECT_TRUE(stacks[0].parts[2].labels.empty());
  EXPECT_EQ(folder.samples_of(), (std::vector<uint32_t>{4, 1}));
}

TEST(StackFolder, labels_differ_in_every_member) {
  std::vector<Stack> stacks;
  ReadBudget budget(1 << 20);
  StackFolder folder(stacks, budget);
  const Label label{"key", "text", 1, "unit"};
  for (const Label& other : {label, Label{"KEY", "text", 1, "unit"}, Label{"key", "TEXT", 1, "unit"},
                             Label{"key", "text", 2, "unit"}, Label{"key", "text", 1, "UNIT"}, label}) {
    add(folder, {}, {other}, {});
  }
  EXPECT_EQ(stacks[0].parts.size(), 5u);
}

TEST(StackFolder, samples_without_labels_are_a_part_only_beside_others) {
  std::vector<Stack> stacks;
  ReadBudget budget(1 << 20);
  StackFolder folder(stacks, budget);
  const Label small{"bytes", "", 16, "bytes"};
  add(folder, {1}, {}, {1, 2, 3, 4});
  add(folder, {1}, {}, {1, 1, 1, 1});
  EXPECT_TRUE(stacks[0].parts.empty());
  EXPECT_EQ(stacks[0].values[1], 3);
  add(folder, {1}, {small}, {10, 10, 10, 10});
  add(folder, {1}, {}, {5, 5, 5, 5});
  ASSERT_EQ(stacks[0].parts.size(), 2u);
  EXPECT_TRUE(stacks[0].parts[0].labels.empty());
  EXPECT_EQ(stacks[0].parts[0].values[1], 8);
  EXPECT_EQ(stacks[0].parts[1].values[1], 10);
  EXPECT_EQ(stacks[0].values[1], 18);
}

TEST(StackFolder, ends_with_the_budget) {
  std::vector<Stack> stacks;
  ReadBudget budget(100000);
  StackFolder folder(stacks, budget);
  EXPECT_THROW(for (uint32_t i = 0; i < 10000; ++i) { add(folder, {i}, {}, {}); }, Error);
  EXPECT_LT(stacks.size(), 1000u);
}

TEST(StackFolder, heaps_are_stacks_of_their_own) {
  std::vector<Stack> stacks;
  ReadBudget budget(1 << 20);
  StackFolder folder(stacks, budget);
  const Label a{"heap", "pool:a", 0, ""};
  const Label b{"heap", "pool:b", 0, ""};
  const Label small{"bytes", "", 16, "bytes"};
  const Label number{"heap", "", 5, ""};
  add(folder, {1, 2}, {a}, {1, 1, 1, 1});
  add(folder, {1, 2}, {b, small}, {2, 2, 2, 2});
  add(folder, {1, 2}, {small}, {4, 4, 4, 4});
  add(folder, {1, 2}, {small, a}, {8, 8, 8, 8});
  add(folder, {1, 2}, {number}, {16, 16, 16, 16});
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks[0].heap, "pool:a");
  EXPECT_EQ(stacks[1].heap, "pool:b");
  EXPECT_EQ(stacks[2].heap, "");
  EXPECT_EQ(stacks[0].values[0], 9);
  ASSERT_EQ(stacks[0].parts.size(), 2u);
  EXPECT_TRUE(stacks[0].parts[0].labels.empty());
  EXPECT_EQ(stacks[0].parts[1].labels.size(), 1u);
  EXPECT_EQ(stacks[2].parts.size(), 2u);  // a number is no name
}

}  // namespace
}  // namespace memprof::profile
