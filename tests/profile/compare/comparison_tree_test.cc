// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ComparisonPath path(std::vector<uint32_t> groups, double before, double after, bool is_growth) {
  ComparisonPath path;
  path.groups = std::move(groups);
  path.before = before;
  path.after = after;
  path.is_growth = is_growth;
  return path;
}

TEST(ComparisonTree, ARunOfCallsIsOneRow) {
  const ComparisonTree tree =
      build_comparison_tree({path({1, 2, 3}, 5, 0, false), path({1, 2, 3}, 0, 2, false)}, 10);
  ASSERT_THAT(tree.nodes, SizeIs(1));
  EXPECT_THAT(tree.nodes[0].groups, ElementsAre(1, 2, 3));
  EXPECT_EQ(tree.nodes[0].before, 5);
  EXPECT_EQ(tree.nodes[0].after, 2);
}

TEST(ComparisonTree, WhatMovedBetweenCalleesIsNotCancelled) {
  const ComparisonTree tree = build_comparison_tree(
      {path({9}, 0, 3, true), path({1, 2}, 10, 0, false), path({1, 3}, 0, 10, true)}, 10);
  ASSERT_THAT(tree.nodes, SizeIs(4));
  EXPECT_THAT(tree.nodes[0].groups, ElementsAre(1));  // heavier than 9, though nothing is left of it
  EXPECT_EQ(tree.nodes[0].after - tree.nodes[0].before, 0);
  EXPECT_EQ(tree.nodes[1].parent, 0u);
  EXPECT_EQ(tree.nodes[1].depth, 2u);
  EXPECT_THAT(tree.nodes[3].groups, ElementsAre(9));
}

TEST(ComparisonTree, TheHeaviestAreShown) {
  const ComparisonTree tree =
      build_comparison_tree({path({1}, 0, 1, true), path({2}, 0, 5, true), path({3}, 0, 3, true)}, 2);
  ASSERT_THAT(tree.nodes, SizeIs(2));
  EXPECT_THAT(tree.nodes[0].groups, ElementsAre(2));
  EXPECT_THAT(tree.nodes[1].groups, ElementsAre(3));
  EXPECT_EQ(tree.hidden, 1u);
  EXPECT_THAT(build_comparison_tree({}, 2).nodes, IsEmpty());
}

}  // namespace
}  // namespace memprof::profile
