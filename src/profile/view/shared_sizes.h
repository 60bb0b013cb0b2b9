// SPDX-License-Identifier: Apache-2.0
// Merges sizes of live blocks in a stack that has very many: each size is a sample of the pprof file, and services
// limit the number of samples.
//
// Model: a group of neighbouring sizes is replaced by four sizes with the same number of samples, the same bytes (to
// one byte over all stacks) and nearly the same spread.  Small sizes, whose samples stand for many blocks, are kept.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Stacks with at most so many sizes keep them.
inline constexpr size_t kMaxOwnSizes = 64;

class SizeSharing {
 public:
  // Call for each stack of a profile in turn: the rounding error in bytes is carried over to the next.
  std::vector<LiveGroup> shared(const std::vector<LiveGroup>& groups);

  // Estimates of the sizes that were given minus those of the sizes in their place, of all stacks so far.  Who writes
  // the sums adds them: a part to each sample, so small that a reader still knows the number of samples.
  double missing_bytes() const { return missing_bytes_; }
  double missing_blocks() const { return missing_blocks_; }

 private:
  void share(const LiveGroup* groups, size_t count, std::vector<LiveGroup>* result);
  void add_pair(uint64_t size_bytes, uint64_t samples, double larger, uint64_t rate_bytes,
                std::vector<LiveGroup>* result);
  void miss(const LiveGroup& group, double sign);

  double missing_bytes_ = 0;
  double missing_blocks_ = 0;
};

// What a file has of the live blocks of a profile.
struct LiveSamples {
  std::vector<std::vector<LiveGroup>> shared;  // by stack; empty: each stack has its own
  // What each sample takes, so that the sums are of the sizes before.
  double blocks_each = 0;
  double bytes_each = 0;
};

LiveSamples share_live_samples(const Profile& profile);

}  // namespace memprof::profile
