// SPDX-License-Identifier: Apache-2.0
// How the section of a runtime's heap is laid out (core/counts/runtime_heap.h writes it).
//
// Threads, signals, fork: plain values, but the counter of changes.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof {

// At the start of the section; then the entries, then the texts, which end with a NUL.
struct RuntimeHeapHead {
  std::atomic<uint64_t> changes;  // odd: it is being written; release, readers acquire
  // By words, relaxed.
  uint64_t runtime;  // low half; the high half: what is behind the texts (0: nothing; kHasSpaces)
  uint64_t resident_bytes;
  uint64_t used_bytes;
  uint64_t live_bytes;
  uint64_t code_bytes;
  uint64_t external_bytes;
  uint64_t entry_count;
  uint64_t text_bytes;
};

// Behind the texts, at a multiple of 8.
struct RuntimeHeapSpaces {
  uint64_t young_bytes;
  uint64_t old_bytes;
  uint64_t large_bytes;
};
inline constexpr uint64_t kHasSpaces = 1;

struct RuntimeHeapEntry {
  uint32_t function;  // offsets in the texts
  uint32_t file;
  uint64_t bytes;
  uint32_t line;
  uint32_t parent;  // its own: it is a root
};

// As many calls as stacks, within bounds.
inline constexpr uint64_t kMaxRuntimeHeapEntries = 8192;
inline constexpr uint64_t kMeanRuntimeHeapText = 48;
inline uint64_t max_runtime_heap_bytes(uint64_t max_stacks) {
  const uint64_t entries = max_stacks < kMaxRuntimeHeapEntries ? max_stacks : kMaxRuntimeHeapEntries;
  return sizeof(RuntimeHeapHead) + sizeof(RuntimeHeapSpaces) +
         entries * (sizeof(RuntimeHeapEntry) + kMeanRuntimeHeapText);
}

}  // namespace memprof
