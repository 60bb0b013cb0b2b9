// SPDX-License-Identifier: Apache-2.0
// What is known of the process and not of its samples: how its allocations come here, what runtimes are in it.
// Told by the platform and the runtimes, kept for tables that are made later, written to the arena for readers.
//
// Threads: any.  Allocates: never.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"

namespace memprof::profiler {

// The hooks say that the allocations of this process go through them; without that, start() has nothing to
// see.
void announce_hooks();
bool has_hooks();

// The import tables were looked at, for the statistics.
void note_imports();

// What is known of the runtime of this id in the process (core/arena/statistics.h, RuntimeFacts): its version,
// and MEMPROF_OBJECTS_*.
void note_runtime(uint32_t id, uint32_t version, uint32_t objects);
// Likewise whether its frames are read: MEMPROF_STACKS_*.
void note_runtime_stacks(uint32_t id, uint32_t stacks);

// Writes all of it to tables that have just been made.
void store_facts(ArenaHeader* header);

}  // namespace memprof::profiler
