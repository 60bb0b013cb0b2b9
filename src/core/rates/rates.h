// SPDX-License-Identifier: Apache-2.0
// The rate in force: who may change it, what it falls back to, and which rates there were.
//
// Model: one rate is wanted, by the user or by a budget (core/rates/budget.h).  Where the table of live samples
// is full, thinning (core/engine/thinning.h) raises it, until there is room again.  In force is the greater of
// the two.  Each sample keeps the rate that its clock was drawn with, so no change makes an estimate biased.
// The arena's header has the rate in force, what it falls back to (ThinState) and how long and for how many
// bytes each rate was in force (RateLog).
//
// Threads: any.  Two changes at once can leave one of them out, and it is made again.
// Signals: may be interrupted by itself.  fork: a child's rate is its parent's; new tables have a log of their own.
// Allocates: never.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"

namespace memprof::rates {

// Of new tables, which the calling thread alone knows: their log begins.  `is_counted`: with the first sample,
// not with the first change.
void begin_log(ArenaHeader* header, bool is_counted);

// The user's: in force at once, whatever thinning wanted.  nullptr: there are no tables.
void set(ArenaHeader* header, uint64_t rate_bytes);
// The budget's.
void follow(ArenaHeader* header, uint64_t rate_bytes, uint64_t now_ns);
// Thinning's: a higher rate, and no more of it.
void raise(ArenaHeader* header, uint64_t rate_bytes, uint64_t now_ns);
void fall_back(ArenaHeader* header, uint64_t now_ns);

// A sample was recorded.
void count_sample(RateLog* log, uint64_t rate_bytes, uint64_t weight_bytes);

}  // namespace memprof::rates
