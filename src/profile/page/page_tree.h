// SPDX-License-Identifier: Apache-2.0
// Paths that share their beginnings, as a tree whose nodes are numbered as they are added, or in preorder.
//
// Threads: one builder's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace memprof::profile {

class PageTree {
 public:
  struct Node {
    uint32_t label = 0;
    uint32_t depth = 0;  // 0: a root
  };

  // The node at which the path ends, numbered as added; at least one label.
  uint32_t add(const std::vector<uint32_t>& path);

  // As they were added: each after the node above it.
  size_t size() const { return nodes_.size(); }
  uint32_t label_of(size_t node) const { return nodes_[node].label; }
  // How many nodes before it the one above it was added; 0: it is a root.
  size_t steps_to_parent(size_t node) const { return parents_[node] == 0 ? 0 : node + 1 - parents_[node]; }

  // In preorder, siblings by label.
  std::vector<Node> nodes() const;
  // For each number of add(): its place in nodes().
  std::vector<uint32_t> places() const;

 private:
  std::vector<uint32_t> preorder() const;

  std::unordered_map<uint64_t, uint32_t> index_;  // by parent and label
  std::vector<Node> nodes_;                       // as they were added: each after its parent
  std::vector<uint32_t> parents_;                 // 0: none, else number + 1
};

}  // namespace memprof::profile
