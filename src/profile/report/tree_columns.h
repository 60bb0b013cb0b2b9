// SPDX-License-Identifier: Apache-2.0
// The columns of a tree of calls, as text and in JSON.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profile/report/report.h"
#include "profile/text/columns.h"

namespace memprof::profile {

// A row of a tree: a node, or what a node (or, at the top, the tree) leaves out.
struct TreeRow {
  const TreeNode* node = nullptr;  // none: what is left out; then these
  size_t hidden_count = 0;         // of branches
  double hidden_value = 0;         // of the metric
  double growth = 0;               // of the node
  std::string guide{};             // the lines before its name
};

// `direction`: of the calls from a row to those under it.  `growth`: there is a column of it.  In JSON nodes alone are
// rows.
std::vector<Column<TreeRow>> tree_columns(const Report& report, Direction direction = Direction::kCallees,
                                          bool growth = false, const TextOptions& options = {});

}  // namespace memprof::profile
