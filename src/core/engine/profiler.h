// SPDX-License-Identifier: Apache-2.0
// The engine's front: life cycle, and what the hooks call when a clock ran out or a marked block is freed.
//
//     hook ── sampler_tick ── (ran out) ── sampler_event ── begin_allocation ── real malloc ── end_allocation
//     hook ── g_sampled_filter ── (marked) ── record_free ── real free
// Cache lines that are prefetched before the real call are in the cache after it.
//
// Threads: one profiler a process, zero-initialised.  The life cycle changes by compare-exchange on one
// state, which says whether to record; hooks read it relaxed, and a flag `following` (acquire, pairs with the
// release in initialize(), so that the tables behind it exist).
// Signals: what the hooks call may be interrupted by itself on one thread.
// fork: a child's hooks see an owner mark of 0 and do nothing, its state is kUninitialized, and its calls
// return kForked until initialize() begins anew, with nothing of the parent's; or, where children are to be
// followed, the first of them that has a sample to record makes tables of the child's own, in which nothing
// of the parent is: what the child got by fork is memory of the parent.
// Allocates: the arena, once.
// Failure: what cannot be recorded is counted; the program's call goes on.
#pragma once

#include <cstdint>

#include "core/reader/counters.h"
#include "core/tables/arena.h"
#include "core/tables/code_table.h"
#include "core/tables/heap_map.h"
#include "core/tables/stack_table.h"
#include "platform/stack.h"

namespace memprof {

enum class Status { kOk, kWrongState, kNoMemory, kForked };

namespace profiler {

// Where the arena lives, and who has one.
struct Sharing {
  const char* folder = nullptr;  // of the arena's file; copied; nullptr or too long: private memory
  bool follow_fork = false;      // fork children get an arena of their own
  bool put_off = false;          // this process's arena is made at its first sample
  bool keep_each = false;        // a reader collects the files: of each program that a process executes
  uint64_t run_token = 0;        // by which that reader knows the processes of its run
};

// Creates the owner mark; before the first event of the process, on one thread.
void adopt_process();
// true in the process that created the mark (and its vfork children), false in other children.
bool is_owner();
// The same; a child that is followed becomes its own owner by this call.
bool is_mine();

// A fork child of a process that had begun, with nothing of its own.
bool is_off_in_child();

Status initialize(const Limits& limits, uint64_t rate_bytes, const Sharing& sharing = {});
Status start();
Status stop();
Status shutdown();
void set_rate(uint64_t rate_bytes);
State state();
Counters counters();
void reset_peak();  // to what is live now: of Counters::peak_weight_bytes, and by stack (core/tables/peak.h)
Arena arena();
// The path of the arena's file; "": it is private memory, or there is no arena.
const char* arena_path();
// Makes the arena of a process that is followed and has none yet.  false: there is none, and it gets none.
bool ensure_arena();
// Has on_time() called by the first sample that is taken at this time (monotonic) or later.
void call_at(uint64_t time_ns);
// The process has begun to end (exit was called, or main returned), and destroys what it has: for readers who
// come when it has ended, what is live is what is live now.  The first call counts.
void note_end_begun();
// The same is told by a language's runtime that ends before the process does.  Asked at frees that are
// followed, so it must neither wait nor allocate; until it says yes.
void watch_runtime_end(bool (*is_ending)());
// For readers: the process came to its end by itself.
void note_end();

// What is known of a sample before its block exists.
struct Pending {
  static constexpr uint32_t kMostKept = 48;  // on the stack while the real malloc runs

  bool recording;  // false: nothing is recorded now, and nothing else here is set
  bool is_walked;  // false: the thread has too little stack left
  platform::WalkResult walk;
  StackKey key;
  uint32_t stack;
  uint32_t heap;
  uint64_t kept[kMostKept];  // the frames, if they are no more than that
};

// After a sampling event: walks the stack.  `heap`: core/tables/heap_names.h; 0: malloc's, or one without a
// name.
void begin_allocation(const platform::Entry& entry, Pending* pending, uint32_t heap = 0);
// After the allocation succeeded, if recording; with the same `entry`.
void end_allocation(Pending* pending, const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                    const platform::Entry& entry);

// Both, for a block that exists.  false: nothing is recorded now, nothing was counted.
bool record_allocation(const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                       const platform::Entry& entry, uint32_t heap = 0);

// Before the real free of a block that the filter marks.
void record_free(const void* block);

// realloc: before the real call, names the record of the old block (empty: none); after it succeeded, takes
// that record out.  A failed realloc leaves it as it was; a record that the address got meanwhile is not
// touched.
HeapMap::Token begin_realloc(const void* block);
void commit_realloc(const void* block, HeapMap::Token token);

// Before the program loads a filter of system calls: asks the system for what will be needed.
void before_sandbox();

// Takes out all records with first <= address <= last.
void record_free_range(uint64_t first, uint64_t last);

// The id of the heap of this name (core/tables/heap_names.h); 0: there are too many.
uint32_t register_heap(const char* name, uint32_t size_bytes);
bool has_heap(uint32_t id);

// One more time that a clock ran out; `recorded`: a sample came of it.  `muted_bytes` went past it
// meanwhile.
void count_cold_path(bool recorded, uint64_t muted_bytes);

// The id of code of a language runtime, for frames (format/runtime_frame.h); CodeTable::kNone: no room.
uint32_t intern_code(const CodeFacts& facts);
// Ids are of the tables of this number: a fork child that is followed makes its own.  0: there are none yet.
uint32_t tables_number();

// After a library may have been unloaded: another one can come to its addresses.
void code_was_unloaded();

// The import tables were looked at, for the statistics.
void note_imports();

// What is known of the CPython in this process (Statistics::python), for the statistics.
void note_python(uint32_t version, uint32_t state);
// Likewise whether its frames are read: MEMPROF_PYTHON_STACKS_*.
void note_python_stacks(uint32_t state);

// The hooks say that the allocations of this process go through them; without that, start() has nothing to
// see.
void announce_hooks();
bool has_hooks();

}  // namespace profiler

// Defined by the public face (capi/): called once by the hooks, as early in the process as its environment
// can be read, to configure and start the profiler where MEMPROF_* variables ask for it.
void autostart();

// Called when a fork child begins anew: what the environment asked for was asked of its parent.
void forget_autostart();

// Called in every fork child (platform::reset_in_child): no thread is writing a dump there.
void reset_dumps_in_child();

// Called by the hooks when the process is about to end: writes the profile that autostart was asked for,
// once, if this is the process that owns it.  No lock, no allocation by malloc.
void end_of_process();

// Likewise, from inside an allocation, at the time that call_at() asked for.
void on_time(uint64_t now_ns);

}  // namespace memprof
