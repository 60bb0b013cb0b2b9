// SPDX-License-Identifier: Apache-2.0
#include "profile/view/path_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

struct Path {
  std::vector<uint32_t> groups;
  double value = 0;
};

struct Total {
  double value = 0;
  double weight() const { return value; }
};

TEST(PathTree, ChildrenAreRangesOfSortedPaths) {
  std::vector<Path> paths = {{{2, 1}, 1}, {{1, 3}, 2}, {{1}, 4}, {{1, 2}, 8}, {{1, 2, 5}, 16}};
  sort_paths(&paths);
  const auto add = [&](Total* sum, size_t i) { sum->value += paths[i].value; };
  const auto roots = children_of(paths, PathRange<Total>{0, paths.size(), 0, {}}, add);
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0].size(), 4u);
  EXPECT_EQ(roots[0].sum.value, 30);
  EXPECT_EQ(roots[1].sum.value, 1);
  const auto below = children_of(paths, roots[0], add);  // not the path that ends at the root
  ASSERT_EQ(below.size(), 2u);
  EXPECT_EQ(below[0].sum.value, 24);
  EXPECT_EQ(below[0].depth, 2u);
  EXPECT_EQ(below[1].sum.value, 2);
}

TEST(PathTree, TheHeaviestIsOpenedFirstAndTheRestIsHidden) {
  std::priority_queue<Candidate<Total>> candidates;
  candidates.push({{3, 4, 1, {5}}, kNoParent, 1});
  candidates.push({{1, 2, 1, {5}}, kNoParent, 1});
  candidates.push({{5, 6, 1, {9}}, kNoParent, 1});
  std::vector<size_t> opened;
  std::vector<size_t> hidden;
  open_heaviest(
      &candidates, 3,
      [&](const Candidate<Total>& candidate) {
        if (opened.empty()) candidates.push({{6, 7, 2, {7}}, 0, 2});
        opened.push_back(candidate.range.begin);
      },
      [&](const Candidate<Total>& candidate) { hidden.push_back(candidate.range.begin); });
  EXPECT_THAT(opened, ElementsAre(5u, 6u, 1u));  // of two that weigh the same, the first one
  EXPECT_THAT(hidden, ElementsAre(3u));
}

TEST(PathTree, EachRowStandsBeforeItsChildren) {
  std::vector<size_t> rows;
  std::vector<size_t> parents;
  for (const PlacedRow& placed : tree_order({kNoParent, kNoParent, 0, 1, 0, 2})) {
    rows.push_back(placed.row);
    parents.push_back(placed.parent);
  }
  EXPECT_THAT(rows, ElementsAre(0u, 2u, 5u, 4u, 1u, 3u));
  EXPECT_THAT(parents, ElementsAre(kNoParent, 0u, 1u, 0u, kNoParent, 4u));
}

}  // namespace
}  // namespace memprof::profile
