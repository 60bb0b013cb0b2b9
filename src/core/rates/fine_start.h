// SPDX-License-Identifier: Apache-2.0
// A rate that starts fine, and gets coarser as bytes go by (core/sampling/fine_law.h).
//
// Model: recorded samples count down; at 0 their thread asks the law for the rate, which knows how many bytes the
// samples stood for and what events have cost (core/rates/budget.h measures them).  At the law's last rate, or when
// all was spent that may be, that ends: nothing is counted down or measured any more.  It begins anew with new tables,
// and with memprof_start, for what the process has not spent yet.
//
// Threads: any; who counts to 0 sets the rate, the others go on.
// Signals: may be interrupted by itself.  fork: begin() for a child's tables.
// Allocates, waits: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof::fine_start {

// Before there are tables.  `has_late_tables`: they come with the first sample, and that is of the last rate, so
// that a small process need not have any.
void configure(bool is_wanted, bool has_late_tables);
// As a user asks for it.  false: also ends what has begun; the rate stays.
void want(bool is_wanted);
bool is_wanted();

// For new tables, which the calling thread alone knows, or those that there are.
void begin(ArenaHeader* header, uint64_t now_ns);

// The rate that will be in force in the long run.
uint64_t lasting_rate();

// Samples until the rate is looked at; 0 or less: it will not be, or somebody is at it.  acquire and release: what the
// thread that sets the rate knows, it has from the one before.
extern std::atomic<int64_t> g_left;
extern std::atomic<uint64_t> g_weight_bytes;  // of the samples since it began; relaxed
void look(ArenaHeader* header, uint64_t now_ns);

// A sample was recorded.
inline void count_sample(ArenaHeader* header, uint64_t weight_bytes, uint64_t now_ns) {
  if (__builtin_expect(g_left.load(std::memory_order_relaxed) > 0, 0)) {
    g_weight_bytes.fetch_add(weight_bytes, std::memory_order_relaxed);
    if (g_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      look(header, now_ns);
    }
  }
}

}  // namespace memprof::fine_start
