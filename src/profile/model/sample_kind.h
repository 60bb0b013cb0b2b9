// SPDX-License-Identifier: Apache-2.0
// Samples that were drawn alike, and sums over them: most stacks allocate blocks of one size, and three numbers say
// what eight sums do.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "profile/model/model.h"

namespace memprof::profile {

// Blocks of one size.  Of the peak only every second sample is kept, `share` is 2 then: a sample stands for so many
// times as many blocks.
struct SampleKind {
  uint64_t size_bytes = 0;
  uint64_t rate_bytes = 0;
  uint64_t share = 1;

  double probability() const;
  bool operator<(const SampleKind& other) const {
    return std::tie(size_bytes, rate_bytes, share) <
           std::tie(other.size_bytes, other.rate_bytes, other.share);
  }
};

// The kind of which all samples of the sums are, as an Accumulator takes them; nothing: they are of several, or the
// sums of none.
std::optional<SampleKind> kind_of(const Totals& totals, uint64_t rate_bytes);

// The sums over so many samples of a kind.
Totals totals_of(const SampleKind& kind, uint64_t samples);

}  // namespace memprof::profile
