// SPDX-License-Identifier: Apache-2.0
// The heap of a language's runtime, as the runtime itself tells it: live objects by the calls that made them.
//
// Threads, signals, fork: plain values.
#pragma once

#include <cstdint>

namespace memprof {

// The public structs of memprof.h have the same layout (asserted in capi/snapshot.cc).
struct RuntimeHeapNode {
  const char* function;
  const char* file;
  uint64_t bytes;  // live; allocated by the function itself
  uint32_t line;
  uint32_t parent;  // index of a node before it; its own: it is a root
};

struct RuntimeHeap {
  uint32_t struct_size;
  uint32_t runtime;
  const RuntimeHeapNode* nodes;
  uint64_t node_count;
  uint64_t resident_bytes;
  uint64_t used_bytes;
  uint64_t live_bytes;  // 0: not known, because no garbage was collected for it
  uint64_t code_bytes;
  uint64_t external_bytes;
  // Of resident_bytes, by space; 0: not known.
  uint64_t young_bytes;
  uint64_t old_bytes;
  uint64_t large_bytes;
};

}  // namespace memprof
