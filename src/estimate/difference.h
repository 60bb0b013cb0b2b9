// SPDX-License-Identifier: Apache-2.0
// The difference of two sums that were sampled independently, and its 95 % interval.
//
// Model: what a side holds is what its samples show and what they missed (missed_mass.h), as a distribution of
// at most 192 cells; the ends are quantiles of the difference of the least that one side holds and the most
// that the other one does.  A side without a sample is not zero: it may have missed blocks such as the other
// shows.  docs/decisions/0057-how-two-profiles-are-compared.md says why.
//
// Threads: plain values.
// Allocates: by malloc.  Failure: cells of which has_failed() is true, an interval that is not known.
#pragma once

#include <cstdint>

#include "estimate/sample_sum.h"

namespace memprof {

using Cells = Array<MissedDistribution::Atom>;

// What a side is known to hold, of one measure; `parts`: all is divided by that (the number of files).
struct MissedSide {
  double certain;
  const MissedMass* missed;
  double parts = 1;
};

// What a side shows, as far as it tells which blocks the other one may have missed.
struct Shown {
  uint64_t rate_bytes;    // 0, 1: every allocation
  MissedMass::Kind kind;  // behind which most can hide
  double bytes;
  double blocks;
  bool is_of_bytes;  // what is compared
};
// The blocks that a side with this rate may hold without a sample.
MissedMass::Kind unseen_kind(uint64_t rate_bytes, const Shown& other);

// The values that the side may have, ascending: as its samples tell, and with one sample more.
Cells min_cells(const MissedSide& side);
Cells max_cells(const MissedSide& side, const MissedMass::Kind& unseen);

// P(a - b <= difference), of two independent ones.
double probability_up_to(const Cells& a, const Cells& b, double difference);

// The ends of what holds the difference up to which the share `part` of a - b lies.  Neither is empty.
struct QuantileEnds {
  double low;
  double high;
};
QuantileEnds difference_quantile(const Cells& a, const Cells& b, double part);

// Widens low and high of `difference` (after - before) to the 95 % interval.
void widen_to_interval(const MissedSide& before, const MissedMass::Kind& unseen_before,
                       const MissedSide& after, const MissedMass::Kind& unseen_after, Bounds* difference);

// after - before, of live samples: their bytes or their blocks.
Bounds difference_of(const SampleSum& before, const SampleSum& after, bool is_of_bytes);

}  // namespace memprof
