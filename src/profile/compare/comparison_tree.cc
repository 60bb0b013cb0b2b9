// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_tree.h"

#include <cmath>
#include <queue>
#include <utility>

namespace memprof::profile {
namespace {

struct Change {
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

using Range = PathRange<Change>;

class Builder {
 public:
  Builder(std::vector<ComparisonPath> paths, size_t max_rows)
      : paths_(std::move(paths)), max_rows_(max_rows) {
    sort_paths(&paths_);
  }

  ComparisonTree build() {
    push_children({0, paths_.size(), 0, {}}, kNoParent, 1);
    ComparisonTree tree;
    open_heaviest(
        &candidates_, max_rows_, [&](const Candidate<Change>& candidate) { open(candidate); },
        [&](const Candidate<Change>&) { ++tree.hidden; });
    put_in_order(&tree);
    return tree;
  }

 private:
  std::vector<Range> children_of(const Range& range) const {
    return profile::children_of(paths_, range, [&](Change* sum, size_t i) { sum->add(paths_[i]); });
  }

  void push_children(const Range& range, size_t parent, size_t depth) {
    for (const Range& child : children_of(range)) {
      if (child.sum.weight() > 0) candidates_.push({child, parent, depth});
    }
  }

  void open(const Candidate<Change>& candidate) {
    Range range = candidate.range;
    ComparisonNode node;
    node.parent = candidate.parent;
    node.depth = candidate.depth;
    node.before = range.sum.before;
    node.after = range.sum.after;
    while (true) {
      node.groups.push_back(paths_[range.begin].groups[range.depth - 1]);
      const std::vector<Range> children = children_of(range);
      // All that is below, and nothing of its own.
      if (children.size() != 1 || children[0].size() != range.size()) break;
      range = Range(children[0]);
    }
    push_children(range, rows_.size(), candidate.depth + 1);
    rows_.push_back(std::move(node));
  }

  void put_in_order(ComparisonTree* tree) {
    std::vector<size_t> parents;
    for (const ComparisonNode& row : rows_) parents.push_back(row.parent);
    for (const PlacedRow& placed : tree_order(parents)) {
      rows_[placed.row].parent = placed.parent;
      tree->nodes.push_back(std::move(rows_[placed.row]));
    }
  }

  std::vector<ComparisonPath> paths_;
  const size_t max_rows_;
  std::priority_queue<Candidate<Change>> candidates_;
  std::vector<ComparisonNode> rows_;
};

}  // namespace

ComparisonTree build_comparison_tree(std::vector<ComparisonPath> paths, size_t max_rows) {
  return Builder(std::move(paths), max_rows).build();
}

}  // namespace memprof::profile
