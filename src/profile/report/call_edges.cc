// SPDX-License-Identifier: Apache-2.0
#include "profile/report/call_edges.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "profile/model/metric.h"

namespace memprof::profile {

EdgeFinder::EdgeFinder(FrameGrouping* grouping, Direction direction, std::vector<bool> functions)
    : grouping_(grouping), direction_(direction), functions_(std::move(functions)) {}

uint32_t EdgeFinder::neighbour_of(size_t frame, const Stack& stack) {
  if (direction_ == Direction::kCallees) {
    return frame == 0 ? grouping_->made_up_group(kItselfCallee) : frames_[frame - 1].group;
  }
  if (frame + 1 < frames_.size()) return frames_[frame + 1].group;
  return grouping_->made_up_group(is_cut(stack) ? kCutStack : kRootCaller);
}

void EdgeFinder::add(const Stack& stack) {
  grouping_->frames_of(stack, &frames_);
  size_t calls = 0;
  Accumulator content;
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (!functions_[frames_[i].function]) continue;
    if (calls++ == 0) {
      ++stacks_;
      content.add(stack);
      cumulative_.add(content);
      if (i == 0) self_.add(content);
    }
    const uint32_t row = neighbour_of(i, stack);
    if (row >= sums_.size()) sums_.resize(grouping_->groups().size());
    if (sums_[row].last_stack == stacks_) continue;
    sums_[row].last_stack = stacks_;
    sums_[row].values.add(content);
  }
  has_recursion_ = has_recursion_ || calls > 1;
}

void EdgeFinder::finish(Metric metric, size_t max_rows, bool skip_empty, CallEdges* edges) const {
  edges->direction = direction_;
  edges->has_recursion = has_recursion_;
  edges->self = self_.estimates();
  edges->cumulative = cumulative_.estimates();
  struct Entry {
    uint32_t row;
    double value;
  };
  std::vector<Entry> order;
  for (uint32_t row = 0; row < sums_.size(); ++row) {
    if (sums_[row].last_stack == 0) continue;
    const double value = sums_[row].values.value(metric);
    if (!skip_empty || value != 0) order.push_back({row, value});
  }
  std::sort(order.begin(), order.end(), [this](const Entry& a, const Entry& b) {
    if (std::abs(a.value) != std::abs(b.value)) return std::abs(a.value) > std::abs(b.value);
    const FrameGroup& x = grouping_->groups()[a.row];
    const FrameGroup& y = grouping_->groups()[b.row];
    return std::tie(x.name, x.file, x.line, x.module) < std::tie(y.name, y.file, y.line, y.module);
  });
  edges->row_count = order.size();
  for (size_t i = 0; i < order.size() && i < max_rows; ++i) {
    edges->rows.push_back({grouping_->groups()[order[i].row], sums_[order[i].row].values.estimates()});
  }
}

std::vector<uint32_t> EdgeFinder::path_of(const Stack& stack) {
  grouping_->frames_of(stack, &frames_);
  std::vector<uint32_t> path;
  size_t outermost = frames_.size();
  while (outermost > 0 && !functions_[frames_[outermost - 1].function]) --outermost;
  if (outermost == 0) return path;
  if (direction_ == Direction::kCallees) {
    for (size_t i = outermost; i-- > 0;) path.push_back(frames_[i].group);
  } else {
    for (size_t i = outermost - 1; i < frames_.size(); ++i) path.push_back(frames_[i].group);
    if (is_cut(stack)) path.push_back(grouping_->made_up_group(kCutStack));
  }
  return path;
}

}  // namespace memprof::profile
