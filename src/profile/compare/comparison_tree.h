// SPDX-License-Identifier: Apache-2.0
// The calls from the root down to what changed.
//
// Model: the paths are sorted, so that a node is a range of them.  A node weighs what grew below it and what
// shrank below it, both counted as positive: a function under which 5 MB moved from one callee to another
// weighs 10.  Nodes are opened from the heaviest down.  A run of calls without a branch is one row.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/view/path_tree.h"

namespace memprof::profile {

struct ComparisonNode {
  std::vector<uint32_t> groups;  // of the run, the root's end first; at least one
  size_t parent = kNoParent;     // index into the tree, which is smaller than the own
  size_t depth = 1;              // in rows
  double before = 0;
  double after = 0;
};

struct ComparisonTree {
  std::vector<ComparisonNode> nodes;  // each before its children, heavier siblings first
  size_t hidden = 0;                  // branches beyond the limit
};

struct ComparisonPath {
  std::vector<uint32_t> groups;  // root first; at least one
  double before = 0;
  double after = 0;
  bool is_growth = false;  // of a row that grew; else of one that shrank
};

ComparisonTree build_comparison_tree(std::vector<ComparisonPath> paths, size_t max_rows);

}  // namespace memprof::profile
