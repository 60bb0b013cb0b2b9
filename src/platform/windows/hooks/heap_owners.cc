// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/heap_owners.h"

#include <atomic>

#include "core/engine/recorder.h"
#include "format/hash.h"
#include "platform/memory.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr uint64_t kPieceShift = 16;
constexpr uint64_t kSlots = uint64_t{1} << 21;
constexpr uint64_t kMaxProbes = 64;
constexpr uint64_t kProcessHeap = 0x30;  // in the process's block

struct Owner {
  std::atomic<uint64_t> piece;  // its number; 0: free, and never free again
  std::atomic<uint64_t> heap;   // relaxed; 0: nobody's now
};

Owner* g_owners = nullptr;
std::atomic<uint64_t> g_used{0};  // slots that were ever taken; relaxed

// Parts of the table in which a slot was ever taken: the others are not looked at, and their pages get no memory.
constexpr uint64_t kPartSlots = 4096 / sizeof(Owner);
std::atomic<bool>
    g_is_part_used[kSlots / kPartSlots];  // relaxed: set before a record of the slot's piece exists

Owner* find_owner(uint64_t piece, bool is_new_wanted) {
  for (uint64_t probe = 0, at = mix_hash(piece); probe < kMaxProbes; ++probe, ++at) {
    Owner& owner = g_owners[at % kSlots];
    uint64_t there = owner.piece.load(std::memory_order_acquire);
    if (there == 0) {
      if (!is_new_wanted) {
        return nullptr;
      }
      if (owner.piece.compare_exchange_strong(there, piece, std::memory_order_acq_rel)) {
        g_is_part_used[at % kSlots / kPartSlots].store(true, std::memory_order_relaxed);
        g_used.fetch_add(1, std::memory_order_relaxed);
        return &owner;
      }
    }
    if (there == piece) {
      return &owner;
    }
  }
  return nullptr;
}

}  // namespace

bool make_heap_owners() {
  if (g_owners == nullptr) {
    g_owners = static_cast<Owner*>(reserve_pages(kSlots * sizeof(Owner)));
  }
  return g_owners != nullptr;
}

// The process's own heap is never destroyed: its pieces are entered only where another heap had them.
void note_heap_of(const void* block, const void* heap) {
  const auto process_heap =
      *reinterpret_cast<const uint64_t*>(thread_block_word(kProcessBlock) + kProcessHeap);
  const bool is_destroyed_once = address_of(heap) != process_heap;
  if (!is_destroyed_once && g_used.load(std::memory_order_relaxed) == 0) {
    return;
  }
  Owner* owner = find_owner(address_of(block) >> kPieceShift, is_destroyed_once);
  if (owner != nullptr && owner->heap.load(std::memory_order_relaxed) != address_of(heap)) {
    owner->heap.store(address_of(heap), std::memory_order_relaxed);
  }
}

void free_all_of(const void* heap) {
  if (g_used.load(std::memory_order_relaxed) == 0) {
    return;
  }
  for (uint64_t slot = 0; slot < kSlots; ++slot) {
    if (!g_is_part_used[slot / kPartSlots].load(std::memory_order_relaxed)) {
      slot += kPartSlots - 1;
      continue;
    }
    Owner& owner = g_owners[slot];
    const uint64_t piece = owner.piece.load(std::memory_order_acquire);
    if (piece != 0 && owner.heap.load(std::memory_order_relaxed) == address_of(heap)) {
      owner.heap.store(0, std::memory_order_relaxed);
      const uint64_t first = piece << kPieceShift;
      profiler::record_free_range(first, first + (uint64_t{1} << kPieceShift) - 1);
    }
  }
}

}  // namespace memprof::platform
