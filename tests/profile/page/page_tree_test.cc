// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::profile {
namespace {

// "label/depth" of each node.
std::string text_of(const PageTree& tree) {
  std::string text;
  for (const PageTree::Node& node : tree.nodes()) {
    text += std::to_string(node.label) + "/" + std::to_string(node.depth) + " ";
  }
  return text;
}

TEST(PageTree, PathsShareTheirBeginnings) {
  PageTree tree;
  const uint32_t deep = tree.add({1, 5, 7});
  const uint32_t other = tree.add({0, 5});
  const uint32_t between = tree.add({1, 2});
  EXPECT_EQ(tree.add({1, 5, 7}), deep);
  EXPECT_EQ(text_of(tree), "0/0 5/1 1/0 2/1 5/1 7/2 ");
  const std::vector<uint32_t> places = tree.places();
  EXPECT_EQ(places[deep], 5u);
  EXPECT_EQ(places[other], 1u);
  EXPECT_EQ(places[between], 3u);
}

TEST(PageTree, IsTheSameInWhateverOrderPathsCome) {
  PageTree one;
  PageTree two;
  one.add({3, 1});
  one.add({3, 0});
  one.add({2});
  two.add({2});
  two.add({3, 0});
  two.add({3, 1});
  EXPECT_EQ(text_of(one), text_of(two));
}

TEST(PageTree, MayBeEmptyAndVeryDeep) {
  PageTree tree;
  EXPECT_TRUE(tree.nodes().empty());
  const uint32_t node = tree.add(std::vector<uint32_t>(200'000, 4));
  EXPECT_EQ(tree.nodes().size(), 200'000u);
  EXPECT_EQ(tree.places()[node], 199'999u);
}

}  // namespace
}  // namespace memprof::profile
