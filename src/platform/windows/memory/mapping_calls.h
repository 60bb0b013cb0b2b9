// SPDX-License-Identifier: Apache-2.0
// What VirtualAlloc and VirtualFree, in all their forms, did to the memory of a process, by what they were asked for.
//
// Model: addresses are reserved in regions, and pages of them get memory when they are committed.  Only what is committed is
// memory.  Pages that were committed before stay as they are.
//
// Threads: no state.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::platform {

struct MemoryChange {
  enum class Kind : uint8_t {
    kNone,
    kFresh,      // a region that is committed as a whole: what was known there is gone
    kCommitted,  // what had no memory has it now
    kGone,       // has no memory any more, or is a new region without
  };
  Kind kind = Kind::kNone;
  uint64_t start = 0;  // of whole pages
  uint64_t size_bytes = 0;
};

// `type`: MEM_*; `got`: what the call returned for `asked` (0: anywhere) and `size_bytes`.
MemoryChange change_of_allocation(uint64_t got, uint64_t asked, uint64_t size_bytes, uint32_t type);

// Does the call take a whole region, whose size it does not say?
bool is_of_region(uint64_t size_bytes, uint32_t type);
// Of a call that succeeded; `region_bytes`: from `address` to the end of its region, where is_of_region().
MemoryChange change_of_free(uint64_t address, uint64_t size_bytes, uint32_t type, uint64_t region_bytes);

}  // namespace memprof::platform
