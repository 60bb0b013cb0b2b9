// SPDX-License-Identifier: Apache-2.0
// Fewer sizes for the live blocks of a stack that has very many of them: each is a sample of a pprof file, and
// services take so many samples only.
//
// Model: sizes that are close share four, which have the same number of samples, the same bytes to one byte for all
// stacks together, and nearly the same spread.  Blocks of small sizes stand for many others, and share nothing.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Stacks with as many sizes or fewer keep them.
inline constexpr size_t kMostOwnSizes = 64;

class SizeSharing {
 public:
  // Call for one stack after the other of a profile: what the bytes are off goes on to the next.
  std::vector<LiveGroup> shared(const std::vector<LiveGroup>& groups);

  // What to add to the blocks of a sample: what sizes that share are off comes back in small parts.
  double take_blocks();

 private:
  void share(const LiveGroup* groups, size_t count, std::vector<LiveGroup>* result);
  void add_pair(uint64_t size_bytes, uint64_t samples, double larger, uint64_t rate_bytes,
                std::vector<LiveGroup>* result);
  void miss(const LiveGroup& group, double sign);

  // Of estimates, so far: what there was, without what stands for it.
  double missing_bytes_ = 0;
  double missing_blocks_ = 0;
};

}  // namespace memprof::profile
