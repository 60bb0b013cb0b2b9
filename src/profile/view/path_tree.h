// SPDX-License-Identifier: Apache-2.0
// What builders of trees from paths share: a report's calls (report/call_tree.h), and what a comparison shows of
// them (compare/comparison_tree.h).
//
// Model: the paths are sorted, so that a node is a range of them.  Nodes are opened from the heaviest down, each
// a row, until there are as many as wanted; then rows are put where a reader expects them: each before its
// children.  What a node weighs is the builder's: `Sum` is what it adds up of a node's paths, and has weight().
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace memprof::profile {

inline constexpr size_t kNoParent = SIZE_MAX;

// Paths that share their first `depth` groups.
template <typename Sum>
struct PathRange {
  size_t begin = 0;
  size_t end = 0;
  size_t depth = 0;
  Sum sum;

  size_t size() const { return end - begin; }
};

template <typename Path>
void sort_paths(std::vector<Path>* paths) {
  std::sort(paths->begin(), paths->end(), [](const Path& a, const Path& b) { return a.groups < b.groups; });
}

// What follows the range's groups, in the order of the paths.  `add(&sum, i)` adds what path i has.
template <typename Sum, typename Path, typename Add>
std::vector<PathRange<Sum>> children_of(const std::vector<Path>& paths, const PathRange<Sum>& range,
                                        Add add) {
  std::vector<PathRange<Sum>> children;
  for (size_t i = range.begin; i < range.end; ++i) {
    const std::vector<uint32_t>& groups = paths[i].groups;
    if (groups.size() == range.depth) continue;  // ends here
    const bool is_new =
        children.empty() || paths[children.back().begin].groups[range.depth] != groups[range.depth];
    if (is_new) children.push_back({i, i, range.depth + 1, {}});
    children.back().end = i + 1;
    add(&children.back().sum, i);
  }
  return children;
}

// A node that can be opened.
template <typename Sum>
struct Candidate {
  PathRange<Sum> range;
  size_t parent = kNoParent;  // in order of opening
  size_t depth = 1;           // in rows

  // Heaviest first; else in the order of the paths.
  bool operator<(const Candidate& other) const {
    const double weight = range.sum.weight();
    const double others = other.range.sum.weight();
    return weight != others ? weight < others : range.begin > other.range.begin;
  }
};

// Opens candidates from the heaviest down: `open(candidate)` may push more.  It makes a row each time; from the
// max_rows-th on, `hide(candidate)` gets those that are left.
template <typename Sum, typename Open, typename Hide>
void open_heaviest(std::priority_queue<Candidate<Sum>>* candidates, size_t max_rows, Open open, Hide hide) {
  for (size_t rows = 0; !candidates->empty();) {
    const Candidate<Sum> candidate = candidates->top();
    candidates->pop();
    if (rows < max_rows) {
      open(candidate);
      ++rows;
    } else {
      hide(candidate);
    }
  }
}

struct PlacedRow {
  size_t row = 0;     // in order of opening
  size_t parent = 0;  // its place in the tree
};

// The tree from the root down: each row before its children, siblings in order of opening.  `parents`: of each
// row, in order of opening, in which a parent comes before its children.
inline std::vector<PlacedRow> tree_order(const std::vector<size_t>& parents) {
  std::vector<std::vector<size_t>> children(parents.size());
  std::vector<PlacedRow> open;  // the next one last
  for (size_t i = parents.size(); i-- > 0;) {
    if (parents[i] == kNoParent) {
      open.push_back({i, kNoParent});
    } else {
      children[parents[i]].push_back(i);  // last opened first
    }
  }
  std::vector<PlacedRow> order;
  while (!open.empty()) {
    const PlacedRow next = open.back();
    open.pop_back();
    for (const size_t child : children[next.row]) open.push_back({child, order.size()});
    order.push_back(next);
  }
  return order;
}

}  // namespace memprof::profile
