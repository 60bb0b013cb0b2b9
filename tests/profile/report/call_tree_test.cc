// SPDX-License-Identifier: Apache-2.0
#include "profile/report/call_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <string>

namespace memprof::profile {
namespace {

constexpr Metric kMetric = Metric::kInuseSpace;

// Paths of letters with live bytes.
class Paths {
 public:
  Paths& add(const std::string& path, double bytes) {
    Stack& stack = stacks_.emplace_back();
    stack.values = {0, 0, 1, bytes};
    TreePath one;
    one.stack = &stack;
    for (const char c : path) one.groups.push_back(static_cast<uint32_t>(c));
    paths_.push_back(one);
    return *this;
  }

  CallTree tree(const TreeLimits& limits = {}) const { return build_tree(paths_, kMetric, limits); }

 private:
  std::deque<Stack> stacks_;
  std::vector<TreePath> paths_;
};

// "depth:letters cumulative/self+hidden", in order.
std::string text(const CallTree& tree) {
  std::string result;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    EXPECT_TRUE(node.parent == kNoParent
                    ? node.depth == 1
                    : node.parent < i && tree.nodes[node.parent].depth + 1 == node.depth);
    result += std::to_string(node.depth) + ":";
    for (const uint32_t group : node.groups) result += static_cast<char>(group);
    result += " " + std::to_string(std::lround(node.cumulative[metric_index(kMetric)].value)) + "/" +
              std::to_string(std::lround(node.self[metric_index(kMetric)].value));
    if (node.hidden_children != 0) {
      result += "+" + std::to_string(node.hidden_children) + "(" +
                std::to_string(std::lround(node.hidden_value)) + ")";
    }
    result += " ";
  }
  return result;
}

TEST(CallTree, HeavierBranchesFirst) {
  Paths paths;
  paths.add("mab", 10).add("mac", 30).add("mz", 100).add("m", 1);
  EXPECT_EQ(text(paths.tree()), "1:m 141/1 2:z 100/100 2:a 40/0 3:c 30/30 3:b 10/10 ");
}

TEST(CallTree, ARunWithoutABranchIsOneNode) {
  Paths paths;
  paths.add("abcde", 10).add("abcdf", 5);
  EXPECT_EQ(text(paths.tree()), "1:abcd 15/0 2:e 10/10 2:f 5/5 ");
}

TEST(CallTree, WhatIsAllocatedOnTheWayEndsARun) {
  Paths paths;
  paths.add("abc", 10).add("ab", 5);
  EXPECT_EQ(text(paths.tree()), "1:ab 15/5 2:c 10/10 ");
}

TEST(CallTree, APathThatHoldsNothingIsABranchWhereNothingMayBeLost) {
  Paths paths;
  paths.add("abc", 10).add("abd", 0);
  EXPECT_EQ(text(paths.tree()), "1:ab 10/0 2:c 10/10 2:d 0/0 ");
}

TEST(CallTree, RecursionIsADeeperTreeAndCountsOnceANode) {
  Paths paths;
  paths.add("mffff", 1).add("mff", 2).add("mffg", 4);
  EXPECT_EQ(text(paths.tree()), "1:mff 7/2 2:g 4/4 2:ff 1/1 ");
}

TEST(CallTree, SmallBranchesAreCounted) {
  Paths paths;
  paths.add("ma", 900).add("mb", 94).add("mc", 4).add("md", 2).add("x", 1);
  TreeLimits limits;
  limits.min_percent = 1;
  const CallTree tree = paths.tree(limits);
  EXPECT_EQ(text(tree), "1:m 1000/0+2(6) 2:a 900/900 2:b 94/94 ");
  EXPECT_EQ(tree.hidden_roots, 1u);
  EXPECT_DOUBLE_EQ(tree.hidden_root_value, 1);
  EXPECT_EQ(tree.hidden_nodes(), 3u);
}

TEST(CallTree, LessThanTheLeastBranchIsLostAlongARun) {
  Paths paths;  // 1 % is 10
  paths.add("abcd", 985).add("ab", 6).add("abcx", 6).add("q", 3);
  TreeLimits limits;
  limits.min_percent = 1;
  // b -> c loses 6, c -> d would make that 12.
  EXPECT_EQ(text(paths.tree(limits)), "1:abc 991/0+1(6) 2:d 985/985 ");
}

TEST(CallTree, TheHeaviestRowsAreKept) {
  Paths paths;
  paths.add("ma", 100).add("mbc", 60).add("mbd", 50).add("x", 5);
  TreeLimits limits;
  limits.max_rows = 3;
  CallTree tree = paths.tree(limits);
  EXPECT_EQ(text(tree), "1:m 210/0 2:b 110/0+2(110) 2:a 100/100 ");
  EXPECT_EQ(tree.hidden_nodes(), 3u);
  limits.max_rows = 0;
  tree = paths.tree(limits);
  EXPECT_TRUE(tree.nodes.empty());
  EXPECT_EQ(tree.hidden_roots, 2u);
  EXPECT_DOUBLE_EQ(tree.hidden_root_value, 215);
}

TEST(CallTree, DepthIsInRows) {
  Paths paths;
  paths.add("abc", 1).add("abd", 2).add("abde", 4);
  TreeLimits limits;
  limits.max_depth = 1;
  EXPECT_EQ(text(paths.tree(limits)), "1:ab 7/0+2(7) ");
  limits.max_depth = 2;
  EXPECT_EQ(text(paths.tree(limits)), "1:ab 7/0 2:d 6/2+1(4) 2:c 1/1 ");
}

TEST(CallTree, ADifferenceOfProfilesHasNegativeBranches) {
  Paths paths;
  paths.add("ma", -100).add("mb", 60).add("mc", 1);
  TreeLimits limits;
  limits.min_percent = 50;  // of 39
  EXPECT_EQ(text(paths.tree(limits)), "1:m -39/0+1(1) 2:a -100/-100 2:b 60/60 ");
}

TEST(CallTree, NoPathsNoTree) {
  EXPECT_TRUE(build_tree({}, kMetric, {}).nodes.empty());
}

// A recursive builder would overflow the stack, a quadratic one would not end.
TEST(CallTree, BearsVeryDeepStacks) {
  Paths paths;
  const std::string deep(300000, 'f');
  paths.add(deep, 1).add(deep + "g", 2).add(deep.substr(0, 1000), 4);
  EXPECT_EQ(paths.tree().nodes.size(), 3u);
  for (size_t i = 1; i < 2000; ++i) paths.add(std::string(i, 'f') + 'h', 1);
  EXPECT_EQ(paths.tree().nodes.size(), 2 + 1999u + 1999u);
}

}  // namespace
}  // namespace memprof::profile
