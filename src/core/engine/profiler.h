// SPDX-License-Identifier: Apache-2.0
// The engine's front: its life cycle, and what the rest of the library asks it for.  What happens to a sample:
// core/engine/recorder.h.
//
// Threads: one profiler a process, zero-initialised.  The life cycle changes by compare-exchange on one
// state, which says whether to record; hooks read it relaxed, and a flag `following` (acquire, pairs with the
// release in initialize(), so that the tables behind it exist).
// fork: a child's hooks see an owner mark of 0 and do nothing, its state is kUninitialized, and its calls
// return kForked until initialize() begins anew, with nothing of the parent's; or, where children are to be
// followed, the first of them that has a sample to record makes tables of the child's own, in which nothing
// of the parent is: what the child got by fork is memory of the parent.
// Allocates: the arena, once.
// Failure: a Status.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"
#include "core/arena/memory_limit.h"
#include "core/rates/budget.h"
#include "core/reader/counters.h"
#include "core/tables/code_table.h"

namespace memprof {

enum class Status { kOk, kWrongState, kNoMemory, kForked };

namespace profiler {

// Where the arena lives, and who has one.
struct Sharing {
  const char* folder = nullptr;  // of the arena's file; copied; nullptr or too long: private memory
  bool follow_fork = false;      // fork children get an arena of their own
  bool defer_tables = false;     // this process's arena is made at its first sample
  bool keep_each = false;        // a reader collects the files: of each program that a process executes
  uint64_t memory_limit_bytes = kNoMemoryLimit;  // of the tables (core/arena/memory_limit.h)
  uint64_t run_token = 0;                        // by which that reader knows the processes of its run
};

// Creates the owner mark; before the first event of the process, on one thread.
void adopt_process();
// true in the process that created the mark (and its vfork children), false in other children.
bool is_owner();
// Makes a child that is followed its own owner, with tables of its own, if it is not yet.  true: this process
// is the owner now.
bool become_owner();

// true in a fork child of a process that had begun, unless become_owner() succeeds there.
bool remains_off();

Status initialize(const Limits& limits, uint64_t rate_bytes, const Sharing& sharing = {},
                  const Budget& budget = {});
Status start();
Status stop();
Status shutdown();
void set_rate(uint64_t rate_bytes);
// Starts fine (core/rates/fine_start.h).  With a budget, or before there are tables: kDefaultRateBytes.
void set_fine_rate();
State state();
Counters counters();
void reset_peak();  // to what is live now: of Counters::peak_weight_bytes, and by stack (core/tables/peak.h)
Arena arena();
// The path of the arena's file; "": it is private memory, or there is no arena.
const char* arena_path();
// Makes the arena of a process that is followed and has none yet.  false: there is none, and it gets none.
bool ensure_arena();
// The id of the heap of this name (core/tables/heap_names.h); 0: there are too many.
uint32_t register_heap(const char* name, uint32_t size_bytes);
bool has_heap(uint32_t id);

// The id of code of a language runtime, for frames (format/runtime_frame.h); CodeTable::kNone: no room.
uint32_t intern_code(const CodeFacts& facts);
// Ids are of the tables of this number: a fork child that is followed makes its own, and a sweep of full tables
// gives what was not met since to other code.  0: there are none yet.
uint32_t tables_epoch();

// After a library may have been unloaded: another one can come to its addresses.
void code_was_unloaded();

}  // namespace profiler

// Defined by the public face (capi/): called once by the hooks, as early in the process as its environment
// can be read, to configure and start the profiler where MEMPROF_* variables ask for it.
void autostart();

// Called when a fork child begins anew: what the environment asked for was asked of its parent.
void forget_autostart();

// Called in every fork child (platform::reset_in_child): no thread is writing a dump there, and the child counts itself
// among the processes of its run.
void reset_dumps_in_child();

// Called by the hooks when the process is about to end: writes the profile that autostart was asked for,
// once, if this is the process that owns it.  No lock, no allocation by malloc.
void end_of_process();

// Programs that this process executes, as the hooks of exec and posix_spawn see them: `memprof run` is told of those that
// memprof does not begin in.  Outside of a run they do nothing.  Signals, vfork children: may call them.  errno stays.

// This process, or a vfork child in its memory, is about to execute `path` (nullptr, or no memory: nothing).  What it returns goes
// to program_did_not_begin where that failed.
uint32_t begin_program(const char* path);
void program_did_not_begin(uint32_t begun);
// A new process, `id`, executes `path`; it was made at `start` or later (platform::start_of_new_process).
void program_was_spawned(uint32_t id, uint64_t start, const char* path);

}  // namespace memprof
