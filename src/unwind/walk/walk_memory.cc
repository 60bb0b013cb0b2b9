// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/walk_memory.h"

#include "format/hash.h"

namespace memprof::unwind {
namespace {

WalkMemory g_memories[WalkMemory::kMemories];  // zero-initialised: banks that remember nothing

}  // namespace

WalkMemory* WalkMemory::take(uint64_t owner) {
  constexpr uint32_t kLooks = 2;
  const uint64_t first = mix_hash(owner);
  for (uint32_t i = 0; i < kLooks; ++i) {
    WalkMemory& memory = g_memories[(first + i) % kMemories];
    if (!memory.is_taken_.load(std::memory_order_relaxed) &&
        !memory.is_taken_.exchange(true, std::memory_order_acquire)) {
      return &memory;
    }
  }
  return nullptr;
}

// What another thread was writing when the process was forked is not whole.
void WalkMemory::reset_in_child() {
  for (WalkMemory& memory : g_memories) {
    if (memory.is_taken_.load(std::memory_order_relaxed)) {
      memory.banks_[0].count = memory.banks_[1].count = 0;
      memory.give_back();
    }
  }
}

}  // namespace memprof::unwind
