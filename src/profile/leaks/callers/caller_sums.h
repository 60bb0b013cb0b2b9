// SPDX-License-Identifier: Apache-2.0
// How much of what the callers of a place allocate is kept: who serves requests gives nearly all of it back; who loads
// tables, or a data set, keeps much of it.
//
// Model: sums over all stacks that a function is in, by groups of one FrameGrouping; and over all there are.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

class CallerSums {
 public:
  void add(const Stack& stack, const std::vector<GroupedFrame>& frames);

  // The least part of the bytes that any of these functions allocated, and all that it called, which still lives: 0 to 1;
  // 1 where there are too few samples to tell.
  double min_kept_share(const std::vector<uint32_t>& groups) const;

 private:
  struct Sum {
    uint64_t samples = 0;
    double allocated_bytes = 0;
    double live_bytes = 0;
  };
  static void add(const Stack& stack, double live_bytes, Sum* sum);
  static double kept(const Sum& sum);

  std::vector<Sum> sums_;  // by group
  Sum all_;
};

// The functions of a stack, each once.
std::vector<uint32_t> groups_of(const std::vector<GroupedFrame>& frames);

}  // namespace memprof::profile
