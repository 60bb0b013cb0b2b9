// SPDX-License-Identifier: Apache-2.0
#include "profile/report/call_tree.h"

#include <cmath>
#include <queue>
#include <utility>

namespace memprof::profile {
namespace {

struct Value {
  double value = 0;  // of the metric

  double weight() const { return std::abs(value); }  // a difference of profiles has negative values
};

using Range = PathRange<Value>;

// A row while the tree grows.
struct Row {
  TreeNode node;
  Range range;
};

class TreeBuilder {
 public:
  TreeBuilder(std::vector<TreePath> paths, Metric metric, const TreeLimits& limits)
      : paths_(std::move(paths)), limits_(limits) {
    sort_paths(&paths_);
    values_.reserve(paths_.size());
    double whole = 0;
    for (const TreePath& path : paths_) {
      values_.push_back(estimated_value(*path.stack, metric));
      whole += values_.back();
    }
    min_ = std::abs(whole) * limits.min_percent / 100;
  }

  CallTree build() {
    CallTree tree;
    tree.min_value = min_;
    open_children({0, paths_.size(), 0, {}}, kNoParent, 1, &tree.hidden_roots, &tree.hidden_root_value);
    open_heaviest(
        &candidates_, limits_.max_rows, [&](const Candidate<Value>& candidate) { open(candidate); },
        [&](const Candidate<Value>& candidate) { hide(candidate, &tree); });
    put_in_order(&tree);
    return tree;
  }

 private:
  void hide(const Candidate<Value>& candidate, CallTree* tree) {
    const bool is_root = candidate.parent == kNoParent;
    ++(is_root ? tree->hidden_roots : rows_[candidate.parent].node.hidden_children);
    (is_root ? tree->hidden_root_value : rows_[candidate.parent].node.hidden_value) +=
        candidate.range.sum.value;
  }

  std::vector<Range> children_of(const Range& range) const {
    return profile::children_of(paths_, range, [&](Value* sum, size_t i) { sum->value += values_[i]; });
  }

  void open_children(const Range& range, size_t parent, size_t depth, size_t* hidden, double* hidden_value) {
    for (const Range& child : children_of(range)) {
      if (child.sum.weight() >= min_ && depth <= limits_.max_depth) {
        candidates_.push({child, parent, depth});
      } else {
        ++*hidden;
        *hidden_value += child.sum.value;
      }
    }
  }

  // The one child that holds the range's paths, but for less than the limit below `first`; else nullptr.
  const Range* only_child(const Range& first, const Range& range, const std::vector<Range>& children) const {
    const Range* largest = nullptr;
    for (const Range& child : children) {
      if (child.size() == range.size()) return &child;
      if (child.sum.weight() < min_) continue;
      if (largest != nullptr) return nullptr;
      largest = &child;
    }
    return largest != nullptr && std::abs(first.sum.value - largest->sum.value) < min_ ? largest : nullptr;
  }

  void open(const Candidate<Value>& candidate) {
    Row row;
    row.node.parent = candidate.parent;
    row.node.depth = candidate.depth;
    Range range = candidate.range;
    while (true) {
      row.node.groups.push_back(paths_[range.begin].groups[range.depth - 1]);
      const std::vector<Range> children = children_of(range);
      const Range* next = only_child(candidate.range, range, children);
      if (next == nullptr) break;
      range = Range(*next);
    }
    row.range = range;
    const size_t index = rows_.size();
    open_children(range, index, candidate.depth + 1, &row.node.hidden_children, &row.node.hidden_value);
    rows_.push_back(std::move(row));
  }

  void estimate(Row* row) const {
    Accumulator self;
    Accumulator cumulative;
    for (size_t i = row->range.begin; i < row->range.end; ++i) {
      cumulative.add(*paths_[i].stack);
      if (paths_[i].groups.size() == row->range.depth) self.add(*paths_[i].stack);
    }
    row->node.self = self.estimates();
    row->node.cumulative = cumulative.estimates();
  }

  void put_in_order(CallTree* tree) {
    std::vector<size_t> parents;
    for (const Row& row : rows_) parents.push_back(row.node.parent);
    for (const PlacedRow& placed : tree_order(parents)) {
      Row& row = rows_[placed.row];
      estimate(&row);
      row.node.parent = placed.parent;
      tree->nodes.push_back(std::move(row.node));
    }
  }

  std::vector<TreePath> paths_;
  const TreeLimits limits_;
  double min_ = 0;
  std::vector<double> values_;  // of paths_
  std::priority_queue<Candidate<Value>> candidates_;
  std::vector<Row> rows_;
};

}  // namespace

size_t CallTree::hidden_nodes() const {
  size_t count = hidden_roots;
  for (const TreeNode& node : nodes) count += node.hidden_children;
  return count;
}

CallTree build_tree(std::vector<TreePath> paths, Metric metric, const TreeLimits& limits) {
  return TreeBuilder(std::move(paths), metric, limits).build();
}

}  // namespace memprof::profile
