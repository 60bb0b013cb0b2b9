// SPDX-License-Identifier: Apache-2.0
// The end of the process, which is not a moment: exit() runs destructors and handlers, a runtime takes itself
// apart.  What is freed from its beginning on stays in the live table, marked, for readers who come after the
// process (core/arena/arena.h: Ending).
//
// Threads: any.  Signals: a handler may call any of it.  Allocates: never.
#pragma once

#include "core/reader/snapshot.h"
#include "core/tables/heap_map.h"

namespace memprof::profiler {

// The process has begun to end (exit was called, or main returned), and destroys what it has: for readers who
// come when it has ended, what is live is what is live now.  The first call counts.
void note_end_begun();
// The same is told by a language's runtime that ends before the process does.  Asked at frees that are
// followed, so it must neither wait nor allocate; until it says yes.
void watch_runtime_end(bool (*is_ending)());
// Or it tells so itself.
void note_runtime_end_begun();
// From now on `on_end` is called once, when the end has begun, and before anything is freed: at exit by the thread
// that exits, at the end of a runtime by a thread that frees a sampled block.  It must neither lock nor allocate by
// malloc.
void watch_end(void (*on_end)());
// What `on_end` found, for readers: what the process has in memory, and how much of each sampled block.
void keep_resident(const Snapshot& found);
// For readers: the process came to its end by itself.
void note_end();

// What is freed now: is its record kept?
KeptFrom kept_from();

}  // namespace memprof::profiler
