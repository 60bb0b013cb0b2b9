// SPDX-License-Identifier: Apache-2.0
// Of mapping_hooks.cc: whose calls are recorded, and what they did.
//
// Threads: any.  Allocates: never.  The thread's last error: not kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/windows/system.h"

namespace memprof::platform {

struct AddressRange {
  uint64_t start;
  uint64_t limit;
  bool contains(uint64_t address) const { return start <= address && address < limit; }
};

// Who calls a hook, and of which process's memory; nullptr: this one's.
struct MappingCaller {
  HANDLE process;
  const void* address;  // where the call returns to
  const void* frame;
};

// Before any hook runs.  false: the loader does not list these modules.
bool find_callers_left_out();
// Of this library; they are counted.
uint32_t own_calls();

// Is it a call of the program's, or of a library of its, for memory of this process, and are mappings recorded?  Of forms that
// call each other the outermost one is.
bool is_recorded(const MappingCaller& caller);

// All addresses of the region, or the view, that this one is in; {}: it is in none.
AddressRange region_of(const void* address);

// After VirtualAlloc, in any form, gave `got`.
void note_allocated(const void* got, const void* asked, size_t size_bytes, uint32_t type,
                    const MappingCaller& caller);
// After MapViewOfFile, in any form, gave `start`.
void note_view(const void* start, const MappingCaller& caller);

}  // namespace memprof::platform
