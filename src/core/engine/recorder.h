// SPDX-License-Identifier: Apache-2.0
// What the hooks call when a clock ran out or a marked block is freed.
//
//     hook ── sampler_tick ── (ran out) ── sampler_event ── begin_allocation ── real malloc ── end_allocation
//     hook ── g_sampled_filter ── (marked) ── record_free ── real free
// Cache lines that are prefetched before the real call are in the cache after it.
//
// Threads: any.
// Signals: what the hooks call may be interrupted by itself on one thread.
// fork: in a child whose parent is not followed nothing is recorded (core/engine/ownership.h).
// Allocates: never; the tables take memory of the arena.
// Failure: what cannot be recorded is counted; the program's call goes on.
#pragma once

#include <cstdint>

#include "core/engine/frame_rooms.h"
#include "core/rates/budget.h"
#include "core/tables/heap_map.h"
#include "core/tables/stack_table.h"
#include "platform/stack.h"

namespace memprof {

namespace profiler {

// Has on_time() called by the first sample that is taken at this time (monotonic) or later.
void call_at(uint64_t time_ns);

// What is known of a sample before its block exists.
struct Pending {
  static constexpr uint32_t kMaxKept = 48;  // on the stack while the real malloc runs

  bool recording;  // false: nothing is recorded now, and nothing else here is set
  bool is_walked;  // false: the thread has too little stack left
  platform::WalkResult walk;
  StackKey key;
  uint32_t stack;
  uint32_t heap;
  uint64_t* kept;          // the frames, if they are no more than that; the caller's
  FrameRoom::Ticket room;  // where they were written, if they are more
};

// After a sampling event.  `heap`: core/tables/heap_names.h; 0: malloc's, or one without a name.  true: the stack is
// to be walked, by find_stack().  Where it is not, there may be little of it: so room for kept frames comes then.
bool begin_allocation(const platform::Entry& entry, Pending* pending, uint32_t heap = 0);
// With pending->kept.
void find_stack(const platform::Entry& entry, Pending* pending);
// After the allocation succeeded, if recording; with the same `entry`.
void end_allocation(Pending* pending, const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                    const platform::Entry& entry);

// Are allocations of this thread recorded now?  Makes the tables of a child that is followed.
bool may_record();
// Only what this thread allocates is recorded from now on; 0: what every thread does.  Frees of every thread are
// followed.  A fork child records what its threads allocate.  Any thread may call it, one at a time.
void record_thread(uint32_t thread_id);
// The stack that is here as StackTable::ref(), which the caller holds a use of; UINT32_MAX: there is no room.
uint32_t enter_stack_here(const platform::Entry& entry, uint32_t heap);
uint32_t current_thread_id();

// Both, for a block that exists.  false: nothing is recorded now, nothing was counted.
bool record_allocation(const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                       const platform::Entry& entry, uint32_t heap = 0);

// Before the real free of a block that the filter marks.
void record_free(const void* block);

// realloc: before the real call, names the record of the old block (empty: none); after it succeeded, takes
// that record out, after it failed leaves it as it was.  A record that the address got meanwhile is not
// touched: musl's realloc frees the old block for all threads before it returns.
HeapMap::Token begin_realloc(const void* block);
void commit_realloc(const void* block, HeapMap::Token token);
void cancel_realloc(HeapMap::Token token);

// Before the program loads a filter of system calls: asks the system for what will be needed.
void before_sandbox();

// Takes out all records with first <= address <= last.
void record_free_range(uint64_t first, uint64_t last);

// One more time that a clock ran out; `recorded`: a sample came of it.  `muted_bytes` went past it
// meanwhile.
void count_cold_path(bool recorded, uint64_t muted_bytes);

// An event ends: what it took is counted, if it was measured.
void note_cost(budget::Meter* meter);

}  // namespace profiler

// Defined by src/dump: called from inside an allocation, at the time that call_at() asked for.
void on_time(uint64_t now_ns);

}  // namespace memprof
