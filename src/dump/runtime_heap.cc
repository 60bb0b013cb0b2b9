// SPDX-License-Identifier: Apache-2.0
#include "dump/runtime_heap.h"

namespace memprof {
namespace {

// As of stacks that are walked; the root's side of a deeper one is left out.
constexpr uint32_t kMaxDepth = 1024;

// From a node to its root; `use` is given the index of each.
template <typename Use>
uint32_t walk_up(const RuntimeHeap& heap, uint64_t node, const Use& use) {
  uint32_t depth = 0;
  for (;;) {
    use(depth, node);
    ++depth;
    const uint32_t parent = heap.nodes[node].parent;
    if (parent >= node || depth == kMaxDepth) {
      return depth;
    }
    node = parent;
  }
}

}  // namespace

bool is_tree(const RuntimeHeap& heap) {
  if (heap.nodes == nullptr && heap.node_count != 0) {
    return false;
  }
  for (uint64_t i = 0; i < heap.node_count; ++i) {
    const RuntimeHeapNode& node = heap.nodes[i];
    if (node.function == nullptr || node.file == nullptr || node.parent > i) {
      return false;
    }
  }
  return true;
}

RuntimeHeapSize size_of(const RuntimeHeap& heap) {
  RuntimeHeapSize size;
  for (uint64_t i = 0; i < heap.node_count; ++i) {
    if (heap.nodes[i].bytes != 0) {
      ++size.stacks;
      size.frames += walk_up(heap, i, [](uint32_t /*depth*/, uint64_t /*node*/) {});
    }
  }
  return size;
}

void add_runtime_heap(const RuntimeHeap& heap, uint64_t first_frame, uint32_t heap_name,
                      profile::RawRuntimeFrame* runtime_frames, uint64_t* frames, profile::RawStack* stacks) {
  for (uint64_t i = 0; i < heap.node_count; ++i) {
    const RuntimeHeapNode& node = heap.nodes[i];
    runtime_frames[i] = {node.function, node.file, node.line, node.line};
    if (node.bytes != 0) {
      const uint32_t depth = walk_up(heap, i, [&](uint32_t at, uint64_t of) {
        frames[at] = profile::kRuntimeFrame | (first_frame + of);
      });
      *stacks = {};
      stacks->frames = frames;
      stacks->depth = depth;
      stacks->heap = heap_name;
      stacks->js_bytes = static_cast<int64_t>(node.bytes <= INT64_MAX ? node.bytes : INT64_MAX);
      frames += depth;
      ++stacks;
    }
  }
}

}  // namespace memprof
