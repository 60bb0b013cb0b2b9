// SPDX-License-Identifier: Apache-2.0
// Who calls a function, or what it calls, and what is allocated through each of these calls.
//
// Model: as pprof's peek.  A stack counts once for each different caller (or callee) of the function on it;
// so with recursion the rows may add up to more than the function itself, which counts once a stack.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/report/call_tree.h"

namespace memprof::profile {

enum class Direction : uint8_t { kCallers, kCallees };

// Rows that are no functions.
inline constexpr char kRootCaller[] = "[root]";      // nothing called it: the stack begins there
inline constexpr char kCutStack[] = "[stack cut]";   // the walk ended before the caller
inline constexpr char kItselfCallee[] = "[itself]";  // allocated by the function, not by what it calls

struct EdgeRow {
  FrameGroup group;
  std::array<Estimate, kMetricCount> values;
};

struct CallEdges {
  Direction direction = Direction::kCallers;
  std::string function;              // as it was asked for
  std::vector<std::string> matched;  // names of the functions taken for it
  std::array<Estimate, kMetricCount> self;
  std::array<Estimate, kMetricCount> cumulative;  // of all of them together
  bool has_recursion = false;                     // a stack with several of the rows, or twice with one
  std::vector<EdgeRow> rows;                      // largest first
  size_t row_count = 0;                           // with those that are not in `rows`
};

class EdgeFinder {
 public:
  // `functions`: for each of grouping->functions(), whether it is asked for.
  EdgeFinder(FrameGrouping* grouping, Direction direction, std::vector<bool> functions);

  void add(const Stack& stack);
  void finish(Metric metric, size_t max_rows, bool skip_empty, CallEdges* edges) const;

  // The stack's groups from the outermost of the functions inwards; for callers, from it outwards.  Empty:
  // none of them is on the stack.
  std::vector<uint32_t> path_of(const Stack& stack);

 private:
  struct Sum {
    Accumulator values;
    size_t last_stack = 0;  // that was added; 0: none
  };

  uint32_t neighbour_of(size_t frame, const Stack& stack);

  FrameGrouping* grouping_;
  Direction direction_;
  std::vector<bool> functions_;
  std::vector<GroupedFrame> frames_;  // of the stack that is looked at, leaf first
  std::vector<Sum> sums_;             // by group
  Accumulator self_;
  Accumulator cumulative_;
  size_t stacks_ = 0;
  bool has_recursion_ = false;
};

}  // namespace memprof::profile
