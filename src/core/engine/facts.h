// SPDX-License-Identifier: Apache-2.0
// What is known of the process and not of its samples: how its allocations come here, what runtimes are in it.
// Told by the platform and the runtimes, kept for tables that are made later, written to the arena for readers.
//
// Threads: any.  Allocates: never.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"
#include "core/counts/runtime_heap.h"
#include "format/programs/command_line.h"

namespace memprof::profiler {

// The hooks say that the allocations of this process go through them; without that, start() has nothing to
// see.
void announce_hooks();
bool has_hooks();

// The import tables were looked at, for the statistics.
void note_imports();

// Libraries were opened that call an allocator which is not seen: so many by now.
void note_bypassing_libraries(uint64_t libraries);

// What is known of the runtime of this id in the process (core/arena/statistics.h, RuntimeFacts): its version,
// and MEMPROF_OBJECTS_*.
void note_runtime(uint32_t id, uint32_t version, uint32_t objects);
// Likewise whether its frames are read: MEMPROF_STACKS_*.
void note_runtime_stacks(uint32_t id, uint32_t stacks);

// And what it tells of its own heap.  false: there are no tables of this process, or there is no room.
bool note_runtime_heap(const RuntimeHeapTable& heap, const RuntimeHeapSums& sums);

// Who reads the arena from outside may tell processes of one program apart by what they were executed with, or call
// themselves: the system's name of the process, then its arguments, each with kCommandLineEnd between, in the table of
// names.  Called when the tables were made, and again when the end of the process begins, as it may have changed.
// By one thread at a time; where another one is at it: nothing.
void store_command_line();

// Writes all of it but the last two to tables that have just been made.
void store_facts(ArenaHeader* header);

}  // namespace memprof::profiler
