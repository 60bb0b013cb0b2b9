// SPDX-License-Identifier: Apache-2.0
// Samples of one size and rate, and sums over them.  Most stacks allocate blocks of one size: three numbers then
// replace the eight sums.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "profile/model/model.h"

namespace memprof::profile {

// Blocks of one size.  `share`: each sample counts for so many of its kind (2 for the peak, of which only every
// second sample is kept).
struct SampleKind {
  uint64_t size_bytes = 0;
  uint64_t rate_bytes = 0;
  uint64_t share = 1;

  double probability() const;
  double missed() const;  // blocks that a sample stands for beside itself
  bool operator<(const SampleKind& other) const {
    return std::tie(size_bytes, rate_bytes, share) <
           std::tie(other.size_bytes, other.rate_bytes, other.share);
  }
};

// The one kind that all samples of the sums have, as an Accumulator sees it; nothing: they have several kinds, or
// there are no samples.
std::optional<SampleKind> kind_of(const Totals& totals, uint64_t rate_bytes);

// The sums over so many samples of a kind.
Totals totals_of(const SampleKind& kind, uint64_t samples);

}  // namespace memprof::profile
