// SPDX-License-Identifier: Apache-2.0
#include "core/arena/intern_index.h"

namespace memprof {

bool InternIndex::open_level(uint32_t level) const {
  if (level >= levels_->limit || !arena_.commit_up_to(section_, slots_before(level + 1) * sizeof(uint64_t))) {
    return false;
  }
  uint32_t expected = level;
  // release pairs with the acquire of `open` in find_or_insert.  Losing the race means that it is open.
  levels_->open.compare_exchange_strong(expected, level + 1, std::memory_order_release,
                                        std::memory_order_relaxed);
  return true;
}

void InternIndex::remove(uint64_t hash, uint32_t id) const {
  uint64_t word = (hash & ~uint64_t{UINT32_MAX}) | (uint64_t{id} + 1);
  const uint32_t open = levels_->open.load(std::memory_order_acquire);
  for (uint32_t level = 0; level < open; ++level) {
    std::atomic<uint64_t>* bucket = slots_ + bucket_slot(hash, level);
    for (uint32_t i = 0; i < kBucketSlots; ++i) {
      uint64_t expected = word;
      if (bucket[i].load(std::memory_order_relaxed) == word &&
          bucket[i].compare_exchange_strong(expected, kRemoved, std::memory_order_relaxed)) {
        return;
      }
    }
  }
}

}  // namespace memprof
