// SPDX-License-Identifier: Apache-2.0
// What happens when the program maps memory itself: hooks of the system's calls come here.  Each mapping is
// recorded, exactly, with the stack that made it, as a stack of the heap "mmap"; no sample, so that no sum of
// blocks has a part of it.
//
//     mapped, committed, moved
//                     after the call: the stack, an event
//     begin_unmap     before a call that unmaps: a ticket, and a last look at an end that has begun
//     unmapped        after the call
//     measure()       what of the mappings is resident, and who holds the rest of the process's memory
//
// When the end of the process has begun, the table stays as it is then.
//
// Where no user asked for it, mappings are recorded from the moment on at which a language's runtime requests it, as programs
// in that language map much themselves; they are in a snapshot only where at least kWorthShowingBytes of them are in memory:
// before that is known, /proc/self/smaps is not read.
//
// Threads, signals: any.  fork: a child records nothing, or into tables of its own.  errno: not kept.
// Allocates: nodes of the arena.
// Failure: what finds no room is counted (dropped_mappings).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/mappings/mapping_table.h"
#include "platform/stack.h"

namespace memprof::mappings {

inline constexpr char kHeapName[] = "mmap";

extern std::atomic<bool> g_is_on;  // relaxed: code

// What hooks ask first.
inline bool is_on() {
  return __builtin_expect(g_is_on.load(std::memory_order_relaxed), 0);
}

// What nobody asked for is shown from so much memory on.  The smallest process with such a runtime has more than twice that.
inline constexpr uint64_t kWorthShowingBytes = uint64_t{4} << 20;

enum class Recording : uint32_t { kNever, kOnRequest, kAlways };

// Before the profiler is initialised: are mappings to be recorded?
void configure(Recording recording);
// By a language's runtime, when it was found in this process.
void request();
// Calls cannot be seen after all: the process has no mappings, rather than none that are left.
void withdraw();
// The tables were made, by the thread that made them.
void attach(const Arena& arena);

// Code of an allocator whose blocks are seen: what is called from there is no mapping of the program's.  A few.
void add_allocator(uint64_t start, uint64_t limit);
// A function of such an allocator in the midst of other code: what is mapped while it runs is none of the program's, too.
// Many.
void add_allocator_function(uint64_t start, uint64_t limit);
void remove_allocator_function(uint64_t start);
MappedBy caller_kind(const void* caller, const platform::Entry& entry);

// Before a call that may unmap: the ticket for unmapped() or moved().  Where a runtime is found ending, what is
// resident is measured here, while it is.
uint64_t begin_unmap();

// To whole pages, as the system does.
uint64_t round_to_pages(uint64_t size_bytes);

// `is_recorded`: false for what is a file's; whatever was there is gone.
void mapped(const void* start, uint64_t size_bytes, bool is_recorded, const void* caller,
            const platform::Entry& entry);
// Of a system that reserves addresses and gives them memory later: what of the range has memory already stays as it is.
void committed(const void* start, uint64_t size_bytes, const void* caller, const platform::Entry& entry);
void unmapped(const void* start, uint64_t size_bytes, uint64_t ticket);
void moved(const void* from, uint64_t old_bytes, const void* to, uint64_t new_bytes, bool keeps_old,
           uint64_t ticket, const void* caller, const platform::Entry& entry);

// Measures what is resident, into the arena.  In a sandbox, or where it is off, nothing happens.
void measure();
// The end of the process began: measures once, and changes nothing from then on.
void note_end();

}  // namespace memprof::mappings
