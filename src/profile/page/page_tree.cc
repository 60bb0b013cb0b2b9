// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_tree.h"

#include <algorithm>

namespace memprof::profile {

uint32_t PageTree::add(const std::vector<uint32_t>& path) {
  uint32_t parent = 0;
  uint32_t depth = 0;
  for (const uint32_t label : path) {
    const auto next = static_cast<uint32_t>(nodes_.size());
    const auto [known, is_new] = index_.emplace(uint64_t{parent} << 32 | label, next);
    if (is_new) {
      nodes_.push_back({label, depth});
      parents_.push_back(parent);
    }
    parent = known->second + 1;
    ++depth;
  }
  return parent - 1;
}

std::vector<uint32_t> PageTree::preorder() const {
  // Children of each, and of none at the front: those of one parent lie together, in the order of labels.
  std::vector<uint32_t> begin(nodes_.size() + 2);
  for (const uint32_t parent : parents_) ++begin[parent + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<uint32_t> children(nodes_.size());
  std::vector<uint32_t> end(begin.begin(), begin.end() - 1);
  for (uint32_t i = 0; i < nodes_.size(); ++i) children[end[parents_[i]]++] = i;
  const auto push = [&](uint32_t parent, std::vector<uint32_t>* open) {
    const auto first = children.begin() + begin[parent];
    const auto last = children.begin() + begin[parent + 1];
    // Backwards, for the last is taken first.
    std::sort(first, last, [&](uint32_t a, uint32_t b) { return nodes_[a].label > nodes_[b].label; });
    open->insert(open->end(), first, last);
  };
  std::vector<uint32_t> order;
  order.reserve(nodes_.size());
  std::vector<uint32_t> open;
  push(0, &open);
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    order.push_back(node);
    push(node + 1, &open);
  }
  return order;
}

std::vector<PageTree::Node> PageTree::nodes() const {
  std::vector<Node> nodes;
  nodes.reserve(nodes_.size());
  for (const uint32_t node : preorder()) nodes.push_back(nodes_[node]);
  return nodes;
}

std::vector<uint32_t> PageTree::places() const {
  std::vector<uint32_t> places(nodes_.size());
  uint32_t next = 0;
  for (const uint32_t node : preorder()) places[node] = next++;
  return places;
}

}  // namespace memprof::profile
