// SPDX-License-Identifier: Apache-2.0
#include "core/tables/intern_index.h"

namespace memprof {

bool InternIndex::open_level(uint32_t level) const {
  if (level >= levels_->limit || !arena_.commit(section_, slots_before(level) * sizeof(uint64_t),
                                                level_slots(level) * sizeof(uint64_t))) {
    return false;
  }
  uint32_t expected = level;
  // release pairs with the acquire of `open` in find_or_insert.  Losing the race means that it is open.
  levels_->open.compare_exchange_strong(expected, level + 1, std::memory_order_release,
                                        std::memory_order_relaxed);
  return true;
}

}  // namespace memprof
