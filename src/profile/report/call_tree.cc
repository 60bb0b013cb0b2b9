// SPDX-License-Identifier: Apache-2.0
#include "profile/report/call_tree.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

namespace memprof::profile {
namespace {

// Paths that share their first `depth` groups.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t depth = 0;
  double value = 0;  // of the metric

  double weight() const { return std::abs(value); }  // a difference of profiles has negative values
  size_t size() const { return end - begin; }
};

struct Candidate {
  Range range;
  size_t parent = kNoParent;  // in order of opening
  size_t depth = 1;

  // Heaviest first; else in the order of the paths.
  bool operator<(const Candidate& other) const {
    if (range.weight() != other.range.weight()) return range.weight() < other.range.weight();
    return range.begin > other.range.begin;
  }
};

// A row while the tree grows.
struct Row {
  TreeNode node;
  Range range;
  std::vector<size_t> children;
};

class TreeBuilder {
 public:
  TreeBuilder(std::vector<TreePath> paths, Metric metric, const TreeLimits& limits)
      : paths_(std::move(paths)), limits_(limits) {
    std::sort(paths_.begin(), paths_.end(),
              [](const TreePath& a, const TreePath& b) { return a.groups < b.groups; });
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
    open_children({0, paths_.size(), 0, 0}, kNoParent, 1, &tree.hidden_roots, &tree.hidden_root_value);
    while (!candidates_.empty()) {
      const Candidate candidate = candidates_.top();
      candidates_.pop();
      if (rows_.size() < limits_.max_rows) {
        open(candidate);
      } else if (candidate.parent == kNoParent) {
        ++tree.hidden_roots;
        tree.hidden_root_value += candidate.range.value;
      } else {
        hide(candidate.range, &rows_[candidate.parent].node);
      }
    }
    put_in_order(&tree);
    return tree;
  }

 private:
  static void hide(const Range& range, TreeNode* parent) {
    ++parent->hidden_children;
    parent->hidden_value += range.value;
  }

  // What follows the range's groups, in the order of the paths.
  void find_children(const Range& range, std::vector<Range>* children) const {
    children->clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const std::vector<uint32_t>& groups = paths_[i].groups;
      if (groups.size() == range.depth) continue;  // ends here
      const bool is_new =
          children->empty() || paths_[children->back().begin].groups[range.depth] != groups[range.depth];
      if (is_new) children->push_back({i, i, range.depth + 1, 0});
      children->back().end = i + 1;
      children->back().value += values_[i];
    }
  }

  void open_children(const Range& range, size_t parent, size_t depth, size_t* hidden, double* hidden_value) {
    std::vector<Range> children;
    find_children(range, &children);
    for (const Range& child : children) {
      if (child.weight() >= min_ && depth <= limits_.max_depth) {
        candidates_.push({child, parent, depth});
      } else {
        ++*hidden;
        *hidden_value += child.value;
      }
    }
  }

  // The one child that holds the range's paths, but for less than the limit below `first`; else nullptr.
  const Range* only_child(const Range& first, const Range& range, const std::vector<Range>& children) const {
    const Range* largest = nullptr;
    for (const Range& child : children) {
      if (child.size() == range.size()) return &child;
      if (child.weight() < min_) continue;
      if (largest != nullptr) return nullptr;
      largest = &child;
    }
    return largest != nullptr && std::abs(first.value - largest->value) < min_ ? largest : nullptr;
  }

  void open(const Candidate& candidate) {
    Row row;
    row.node.parent = candidate.parent;
    row.node.depth = candidate.depth;
    Range range = candidate.range;
    std::vector<Range> children;
    while (true) {
      row.node.groups.push_back(paths_[range.begin].groups[range.depth - 1]);
      find_children(range, &children);
      const Range* next = only_child(candidate.range, range, children);
      if (next == nullptr) break;
      range = Range(*next);
    }
    row.range = range;
    const size_t index = rows_.size();
    if (candidate.parent != kNoParent) rows_[candidate.parent].children.push_back(index);
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

  // Rows were opened by weight, a parent before its children: a row's children are in their order already.
  void put_in_order(CallTree* tree) {
    std::vector<std::pair<size_t, size_t>> open;  // row, its parent's place in the tree
    for (size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].node.parent == kNoParent) open.emplace_back(i, kNoParent);
    }
    while (!open.empty()) {
      const auto [index, parent] = open.back();
      open.pop_back();
      Row& row = rows_[index];
      const size_t place = tree->nodes.size();
      for (size_t i = row.children.size(); i-- > 0;) open.emplace_back(row.children[i], place);
      estimate(&row);
      row.node.parent = parent;
      tree->nodes.push_back(std::move(row.node));
    }
  }

  std::vector<TreePath> paths_;
  const TreeLimits limits_;
  double min_ = 0;
  std::vector<double> values_;  // of paths_
  std::priority_queue<Candidate> candidates_;
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
