// SPDX-License-Identifier: Apache-2.0
// What is mapped in this process, how much of it is resident, and whose it is as far as the system and the C
// library's own marks tell.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstdint>

#include "format/memory_part.h"

namespace memprof::platform {

// As the system lists it: neighbours of one kind may be one area.
struct MemoryArea {
  uint64_t start;
  uint64_t limit;
  uint64_t resident_bytes;
  uint64_t anonymous_bytes;  // of these: no copy of a file's page
  bool is_file;              // part of a file, or memory shared with other processes
  bool is_break;             // the break's
  bool is_stack;             // the first thread's stack
  bool is_writable;
  bool follows_anonymous;  // right behind memory that is no part of a file
  bool follows_guard;      // right behind memory that can be neither read nor written
};

// visit(area) in the order of addresses.  false: they cannot be listed (a sandbox).  One caller at a time.  Keeps
// errno.
bool each_memory_area(void (*visit)(const MemoryArea& area, void* context), void* context);

// Whose is what begins at `start`, which lies in `area` and ends at `limit` at most?  *end: where its part ends.
MemoryPart holder_of(const MemoryArea& area, uint64_t start, uint64_t limit, uint64_t* end);

// Of [start, limit): bytes that are resident.
uint64_t resident_bytes_in(uint64_t start, uint64_t limit);
// Can it answer where areas cannot be listed?
bool counts_without_areas();

// Of this system; a power of two, never less than kSmallestPage.
uint64_t page_bytes();
// What is done for each page may be done for smaller ones, too.
inline constexpr uint64_t kSmallestPage = 4096;

}  // namespace memprof::platform
