// SPDX-License-Identifier: Apache-2.0
// The heap of a language's runtime, as the runtime tells it, as stacks of a profile: a kind of its own, which no sum of
// blocks has a part of.
//
// Model: a tree of calls; each node with bytes is a stack, from it to its root.
//
// Threads: no state.
// Allocates: never; the arrays are the caller's.
#pragma once

#include <cstdint>

#include "dump/raw_pprof.h"

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
  uint64_t live_bytes;
  uint64_t code_bytes;
  uint64_t external_bytes;
};

// The name of the heap in profiles.
inline constexpr char kJsHeapName[] = "js";

// Whether every node has its texts, and a parent that stands before it.
bool is_tree(const RuntimeHeap& heap);

struct RuntimeHeapSize {
  uint64_t stacks = 0;
  uint64_t frames = 0;
};
RuntimeHeapSize size_of(const RuntimeHeap& heap);

// Into arrays with room for size_of() and for a runtime frame of each node.  `first_frame`: the index that the first of
// `runtime_frames` has in the profile; `heap_name`: that of kJsHeapName.
void add_runtime_heap(const RuntimeHeap& heap, uint64_t first_frame, uint32_t heap_name,
                      profile::RawRuntimeFrame* runtime_frames, uint64_t* frames, profile::RawStack* stacks);

}  // namespace memprof
