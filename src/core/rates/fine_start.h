// SPDX-License-Identifier: Apache-2.0
// A rate that starts fine: the rates of core/sampling/fine_schedule.h, one after the other, for each table of
// samples anew.
//
// Model: each recorded sample counts down; at 0, or when the events of this rate have cost their share
// (core/rates/budget.h measures them), the next coarser rate is in force.  Rates only become coarser, so a clock
// that is under way is finer than it need be, and goes on to its sampling point.  At the last rate nothing is counted
// or measured any more.  It begins anew with memprof_start, for what the process has not spent yet.
//
// Threads: any; one at a time takes the next step, the others go on.
// Signals: may be interrupted by itself.  fork: attach() begins anew for a child's tables.
// Allocates, waits: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof::fine_start {

// Before there are tables.  `is_late`: those come with the first sample, and that is of the last rate, so that a
// small process need not have any.
void configure(bool is_wanted, bool is_late);
// As a user asks for it in a process that has tables, or not.
void want(bool is_wanted);
bool is_wanted();

// New tables, which the calling thread alone knows, or those that there are: begins, if it is wanted.
void begin(ArenaHeader* header, uint64_t now_ns);

// The rate that is in force in the long run: the schedule's last one while it runs, else the present one.
uint64_t lasting_rate();

// Samples until the next rate; 0 or less: none is to come, or who brought it to 0 is taking the step.
extern std::atomic<int64_t> g_left;  // relaxed
extern std::atomic<uint64_t> g_cost_limit_ns;  // relaxed; LaterStatistics::sampling_ns that ends this rate
void step(ArenaHeader* header, uint64_t now_ns);

inline bool is_running() {
  return g_left.load(std::memory_order_relaxed) > 0;
}
// A sample was recorded.
inline void count_sample(ArenaHeader* header, uint64_t now_ns) {
  if (__builtin_expect(is_running(), 0) && g_left.fetch_sub(1, std::memory_order_relaxed) == 1) {
    step(header, now_ns);
  }
}
// So much was spent on events in all.
inline void look_at_cost(ArenaHeader* header, uint64_t spent_ns, uint64_t now_ns) {
  if (is_running() && spent_ns > g_cost_limit_ns.load(std::memory_order_relaxed) &&
      g_left.exchange(0, std::memory_order_relaxed) > 0) {
    step(header, now_ns);
  }
}

}  // namespace memprof::fine_start
