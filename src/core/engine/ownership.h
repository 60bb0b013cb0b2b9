// SPDX-License-Identifier: Apache-2.0
// Whose the profiler is, and its tables: what life cycle, recorder and the end of the process share.  Only
// core/engine includes this.
//
// Model: a fork child is recognised (core/sampling/fork_child.h).  One whose parent is followed makes tables of its own at its
// first sample, in which nothing of the parent is; any other child does nothing until initialize() begins anew.
//
// Threads: who wins the page's claim makes the tables, once; the others find is_following() true (acquire,
// pairs with the release of who made them).
// Signals: a handler that interrupts the maker finds the claim taken, and records nothing.
// Allocates: the arena.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/engine/profiler.h"
#include "core/sampling/fork_child.h"
#include "core/tables/code_table.h"
#include "core/tables/heap_map.h"
#include "core/tables/heap_names.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"
#include "core/tables/table_sweep.h"

namespace memprof::profiler {

// A State, or kInitializing.
extern std::atomic<uint32_t> g_state;
// Set while one thread initialises; never seen outside state().
inline constexpr uint32_t kInitializing = 100;
inline uint32_t raw(State state) {
  return static_cast<uint32_t>(state);
}

// The tables of this process.
extern Arena g_arena;
extern HeapMap g_live;
extern StackTable g_stacks;
extern PeakTable g_peaks;
extern NameTable g_names;
extern ModuleTable g_modules;
extern CodeTable g_codes;
extern TableSweep g_sweep;
extern HeapNames g_heap_names;

// They are there.
extern std::atomic<bool> g_following;
// The tables are there and are this process's.
inline bool is_following() {
  return g_following.load(std::memory_order_acquire) && owns();
}

// The tables of a process that is followed and has none yet, or put them off.  true: they are there.
bool make_own_tables();

// The rest is the life cycle's.

// Takes what initialize() was given, for tables that are made now or later.
void adopt_settings(const Limits& limits, const Sharing& sharing);
// The tables of the process that calls initialize(), unless they are put off.  false: there is no memory.
bool make_first_tables();

// In a fork child that is to have a profiler of its own and no part in its parent's, whose memory stays as it
// is.  The hooks see no owner, and do nothing, until it is done.
void begin_anew();
// Has a followed child a state of its parent's to go on in?
bool has_state_to_follow();
// Nothing here is this process's, and nothing will be unless it begins anew.
bool is_off();

bool change_state(State from, State to);

// "": the arena is private memory, or there is none.
const char* own_arena_path();

}  // namespace memprof::profiler
