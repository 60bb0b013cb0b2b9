// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_tree.h"

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
  double before = 0;
  double after = 0;
  double growth = 0;     // of the paths of rows that grew
  double shrinkage = 0;  // of the others

  double weight() const { return std::abs(growth) + std::abs(shrinkage); }

  void add(const ComparisonPath& path) {
    before += path.before;
    after += path.after;
    (path.is_growth ? growth : shrinkage) += path.after - path.before;
  }
};

struct Candidate {
  Range range;
  size_t parent = SIZE_MAX;  // in order of opening
  size_t depth = 1;

  bool operator<(const Candidate& other) const {
    if (range.weight() != other.range.weight()) return range.weight() < other.range.weight();
    return range.begin > other.range.begin;
  }
};

class Builder {
 public:
  Builder(std::vector<ComparisonPath> paths, size_t max_rows)
      : paths_(std::move(paths)), max_rows_(max_rows) {
    std::sort(paths_.begin(), paths_.end(),
              [](const ComparisonPath& a, const ComparisonPath& b) { return a.groups < b.groups; });
  }

  ComparisonTree build() {
    push_children({0, paths_.size(), 0, 0, 0, 0, 0}, SIZE_MAX, 1);
    ComparisonTree tree;
    while (!candidates_.empty()) {
      const Candidate candidate = candidates_.top();
      candidates_.pop();
      if (rows_.size() < max_rows_) {
        open(candidate);
      } else {
        ++tree.hidden;
      }
    }
    put_in_order(&tree);
    return tree;
  }

 private:
  std::vector<Range> children_of(const Range& range) const {
    std::vector<Range> children;
    for (size_t i = range.begin; i < range.end; ++i) {
      const std::vector<uint32_t>& groups = paths_[i].groups;
      if (groups.size() == range.depth) continue;  // ends here
      const bool is_new =
          children.empty() || paths_[children.back().begin].groups[range.depth] != groups[range.depth];
      if (is_new) children.push_back({i, i, range.depth + 1, 0, 0, 0, 0});
      children.back().end = i + 1;
      children.back().add(paths_[i]);
    }
    return children;
  }

  void push_children(const Range& range, size_t parent, size_t depth) {
    for (const Range& child : children_of(range)) {
      if (child.weight() > 0) candidates_.push({child, parent, depth});
    }
  }

  void open(const Candidate& candidate) {
    Range range = candidate.range;
    ComparisonNode node;
    node.parent = candidate.parent;
    node.depth = candidate.depth;
    node.before = range.before;
    node.after = range.after;
    while (true) {
      node.groups.push_back(paths_[range.begin].groups[range.depth - 1]);
      const std::vector<Range> children = children_of(range);
      // All that is below, and nothing of its own.
      if (children.size() != 1 || children[0].end - children[0].begin != range.end - range.begin) break;
      range = Range(children[0]);
    }
    push_children(range, rows_.size(), candidate.depth + 1);
    rows_.push_back(std::move(node));
  }

  // Rows were opened by weight, a parent before its children.
  void put_in_order(ComparisonTree* tree) {
    std::vector<std::vector<size_t>> children(rows_.size());
    std::vector<std::pair<size_t, size_t>> open;  // row, its parent's place in the tree
    for (size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].parent == SIZE_MAX) {
        open.emplace_back(i, SIZE_MAX);
      } else {
        children[rows_[i].parent].push_back(i);  // lightest first
      }
    }
    while (!open.empty()) {
      const auto [row, parent] = open.back();
      open.pop_back();
      const size_t place = tree->nodes.size();
      for (const size_t child : children[row]) open.emplace_back(child, place);
      rows_[row].parent = parent;
      tree->nodes.push_back(std::move(rows_[row]));
    }
  }

  std::vector<ComparisonPath> paths_;
  const size_t max_rows_;
  std::priority_queue<Candidate> candidates_;
  std::vector<ComparisonNode> rows_;
};

}  // namespace

ComparisonTree build_comparison_tree(std::vector<ComparisonPath> paths, size_t max_rows) {
  return Builder(std::move(paths), max_rows).build();
}

}  // namespace memprof::profile
