// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that copies what a runtime told of its own heap.
#include <cstring>

#include "core/arena/runtime_heap.h"
#include "core/reader/snapshot_source.h"
#include "platform/memory.h"

namespace memprof {
namespace {

// A tree is written in less than a millisecond, and not again for seconds.
constexpr int kHeapTries = 3;

uint64_t changes_of(const RuntimeHeapHead& head) {
  return head.changes.load(std::memory_order_acquire);  // pairs with the release of the writer
}

// Of the entries and texts at `from`, which are ours.  false: they are no tree.
bool convert(const RuntimeHeapEntry* from, const char* texts, const RuntimeHeapHead& head,
             RuntimeHeapNode* to) {
  if (head.text_bytes == 0 || texts[head.text_bytes - 1] != '\0') {
    return false;
  }
  for (uint64_t i = 0; i < head.entry_count; ++i) {
    const RuntimeHeapEntry& e = from[i];
    if (e.parent > i || e.function >= head.text_bytes || e.file >= head.text_bytes) {
      return false;
    }
    to[i] = {texts + e.function, texts + e.file, e.bytes, e.line, e.parent};
  }
  return true;
}

}  // namespace

// false: no memory.  A tree that cannot be had, or is none, is left out.
bool Snapshot::copy_runtime_heap(Source* source) {
  if (!source->has_runtime_heap()) {
    return true;
  }
  for (int i = 0; i < kHeapTries; ++i) {
    source->load(kRuntimeHeapSection);
    const uint64_t used = source->used[kRuntimeHeapSection];
    if (used < sizeof(RuntimeHeapHead)) {
      return true;
    }
    const RuntimeHeapHead& shared = *source->at<RuntimeHeapHead>(kRuntimeHeapSection);
    const uint64_t before = changes_of(shared);
    RuntimeHeapHead head{};
    load_bytes(&head.runtime, &shared.runtime, sizeof(head) - offsetof(RuntimeHeapHead, runtime));
    const uint64_t room = used - sizeof(head);
    if (before == 0 || head.entry_count > room / sizeof(RuntimeHeapEntry) ||
        head.text_bytes > room - head.entry_count * sizeof(RuntimeHeapEntry)) {
      continue;
    }
    const uint64_t spaces_at = (head.text_bytes + 7) / 8 * 8;
    const uint64_t entries_bytes = head.entry_count * sizeof(RuntimeHeapEntry);
    const bool has_spaces =
        head.runtime >> 32 == kHasSpaces && room - entries_bytes >= spaces_at + sizeof(RuntimeHeapSpaces);
    const uint64_t bytes =
        entries_bytes + (has_spaces ? spaces_at + sizeof(RuntimeHeapSpaces) : head.text_bytes);
    const uint64_t total = bytes + 8 + head.entry_count * sizeof(RuntimeHeapNode);
    auto* const memory = static_cast<uint8_t*>(platform::reserve_pages(total));
    if (memory == nullptr) {
      return false;
    }
    auto* const nodes = reinterpret_cast<RuntimeHeapNode*>(memory);
    auto* const entries = memory + head.entry_count * sizeof(RuntimeHeapNode);
    load_bytes(entries, &shared + 1, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    source->load_part(kRuntimeHeapSection, 0, sizeof(head));
    const auto* const texts =
        reinterpret_cast<const char*>(entries + head.entry_count * sizeof(RuntimeHeapEntry));
    if (before % 2 == 0 && changes_of(shared) == before &&
        convert(reinterpret_cast<const RuntimeHeapEntry*>(entries), texts, head, nodes)) {
      runtime_heap_mapping_ = memory;
      runtime_heap_mapping_bytes_ = total;
      runtime_heap = {sizeof(RuntimeHeap),
                      static_cast<uint32_t>(head.runtime),
                      nodes,
                      head.entry_count,
                      head.resident_bytes,
                      head.used_bytes,
                      head.live_bytes,
                      head.code_bytes,
                      head.external_bytes,
                      0,
                      0,
                      0};
      if (has_spaces) {
        RuntimeHeapSpaces spaces;
        memcpy(&spaces, texts + spaces_at, sizeof(spaces));
        runtime_heap.young_bytes = spaces.young_bytes;
        runtime_heap.old_bytes = spaces.old_bytes;
        runtime_heap.large_bytes = spaces.large_bytes;
      }
      return true;
    }
    platform::release_pages(memory, total);
  }
  return true;
}

}  // namespace memprof
