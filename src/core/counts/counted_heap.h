// SPDX-License-Identifier: Apache-2.0
// What an allocator that counts itself has in mappings that are nobody's by the map: all that was in them was freed, and
// no sampled block says whose they are.
//
// Allocates: never.
#pragma once

#include <algorithm>
#include <cstdint>

#include "format/resident.h"

namespace memprof::counts {

// Before add_counts(): as much of the anonymous memory as the allocators count beyond what was found to be theirs.  What
// they count in use need not be in memory where blocks are not.
inline void claim_counted(const AllocatorCounts& counts, ResidentMemory* memory) {
  if (counts.time_ns == 0 || !memory->is_known()) {
    return;
  }
  const uint64_t used = counts.used_bytes - std::min(counts.used_bytes, memory->absent_bytes);
  const uint64_t counted = used + std::min(counts.free_bytes, UINT64_MAX - used);
  const uint64_t beyond = counted - std::min(counted, memory->heap_bytes);
  const uint64_t claimed = std::min(beyond, memory->anonymous_bytes);
  memory->heap_bytes += claimed;
  memory->anonymous_bytes -= claimed;
  // Of the heap that is not glibc's they say what is free.
  constexpr uint64_t kBoth = kResidentFreeKnown | kResidentOtherHeap;
  if ((memory->state & kBoth) == kBoth) {
    memory->state &= ~(kResidentOtherHeap | kResidentFreeCut);
  }
}

}  // namespace memprof::counts
