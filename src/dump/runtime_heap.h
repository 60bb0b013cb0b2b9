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
#include "format/runtime_heap.h"

namespace memprof {

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
