// SPDX-License-Identifier: Apache-2.0
// Stacks as a tree from the root, cut down to what a person reads.
//
// Model: the paths are sorted, so that a node is a range of them.  Nodes are opened from the heaviest down,
// until the limits: what is shown is always the heaviest part.  A run of nodes without a branch is one row,
// whose numbers are those of its last function; the limit of percents says how much may be lost along it
// before it counts as a branch (with 0: nothing).
//
// Threads: plain values; one builder's own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/model.h"
#include "profile/view/path_tree.h"

namespace memprof::profile {

struct TreeLimits {
  size_t max_rows = SIZE_MAX;
  size_t max_depth = SIZE_MAX;          // rows from the root to a leaf
  size_t max_frames = size_t{1} << 27;  // of all paths: half a GiB of memory
  double min_percent = 0;               // of all paths together: smaller nodes are not shown
};

struct TreeNode {
  std::vector<uint32_t> groups;             // of the run, the root's end first; at least one
  size_t parent = kNoParent;                // index into CallTree::nodes, which is smaller than the own
  size_t depth = 1;                         // in rows
  std::array<Estimate, kMetricCount> self;  // of the paths that end here
  std::array<Estimate, kMetricCount> cumulative;
  size_t hidden_children = 0;
  double hidden_value = 0;  // of the metric: what those hold
};

struct CallTree {
  std::vector<TreeNode> nodes;  // each before its children, heavier siblings first
  size_t hidden_roots = 0;
  double hidden_root_value = 0;
  double min_value = 0;  // that a node must hold

  size_t hidden_nodes() const;
};

// Frames as groups, in the tree's order (root first, or function first in a tree of callers).
struct TreePath {
  const Stack* stack = nullptr;
  std::vector<uint32_t> groups;  // at least one
};

CallTree build_tree(std::vector<TreePath> paths, Metric metric, const TreeLimits& limits);

}  // namespace memprof::profile
