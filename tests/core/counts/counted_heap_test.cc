// SPDX-License-Identifier: Apache-2.0
#include "core/counts/counted_heap.h"

#include <gtest/gtest.h>

namespace memprof::counts {
namespace {

// After all was freed: of 18 MiB that jemalloc kept, 7 MiB lay in mappings without a sampled block.
TEST(CountedHeap, WhatIsCountedBeyondTheHeapLiesInMappingsOfNobody) {
  ResidentMemory memory;
  memory.total_bytes = 30;
  memory.heap_bytes = 11;
  memory.anonymous_bytes = 8;
  AllocatorCounts counts;
  counts.has_malloc = true;
  counts.used_bytes = 1;
  counts.free_bytes = 17;
  claim_counted(counts, &memory);
  EXPECT_EQ(11u, memory.heap_bytes) << "nobody was asked";
  counts.time_ns = 1;
  claim_counted(counts, &memory);
  EXPECT_EQ(18u, memory.heap_bytes);
  EXPECT_EQ(1u, memory.anonymous_bytes);
  add_counts(counts, 2, &memory);
  EXPECT_EQ(17u, memory.free_bytes);
}

TEST(CountedHeap, NoMoreThanThereIs) {
  ResidentMemory memory;
  memory.total_bytes = 30;
  memory.heap_bytes = 11;
  memory.anonymous_bytes = 2;
  memory.absent_bytes = 5;  // of blocks: counted in use, and not in memory
  AllocatorCounts counts;
  counts.time_ns = 1;
  counts.used_bytes = 10;
  counts.free_bytes = 6;
  claim_counted(counts, &memory);
  EXPECT_EQ(11u, memory.heap_bytes);
  counts.free_bytes = UINT64_MAX;
  claim_counted(counts, &memory);
  EXPECT_EQ(13u, memory.heap_bytes);
  EXPECT_EQ(0u, memory.anonymous_bytes);
}

// glibc's lists are known, and the other allocator says what it keeps.
TEST(CountedHeap, WhatIsFreeOfTheOtherAllocatorIsKnown) {
  ResidentMemory memory;
  memory.total_bytes = 30;
  memory.state = kResidentFreeKnown | kResidentFreeCut | kResidentOtherHeap;
  AllocatorCounts counts;
  counts.time_ns = 1;
  claim_counted(counts, &memory);
  EXPECT_EQ(kResidentFreeKnown, memory.state);
}

}  // namespace
}  // namespace memprof::counts
