// SPDX-License-Identifier: Apache-2.0
// Which looks of a series stay where there is no room for all.
//
// Model: the older, the further apart.  A look's gap is the time between the looks beside it; it goes where its
// gap is the smallest share of its age.  What stays has gaps that grow with age in proportion, like the ticks
// of a logarithmic axis.  The first and the last stay, and the one that held the most.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace memprof::profile {

struct ThinningLook {
  uint64_t time_unix_ns = 0;
  double live_bytes = 0;
  uint64_t bytes = 0;  // in the file
};

// `looks` by time.  A true for each that stays; together they have at most `max_bytes`.  Where there is no room
// for those that always stay, the oldest of these go, too.
std::vector<bool> thin_looks(const std::vector<ThinningLook>& looks, uint64_t now_unix_ns,
                             uint64_t max_bytes);

}  // namespace memprof::profile
