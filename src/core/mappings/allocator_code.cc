// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/allocator_code.h"

#include <algorithm>

namespace memprof::mappings {

uint32_t AllocatorCode::used() const {
  return std::min(used_.load(std::memory_order_relaxed), kMax);
}

void AllocatorCode::add(uint64_t start, uint64_t limit) {
  uint32_t place = used() < kMax ? used_.fetch_add(1, std::memory_order_relaxed) : 0;
  // Where all were taken once, one that was given back.
  for (uint32_t tries = 0; tries < kMax; ++tries, place = (place + 1) % kMax) {
    Range& range = ranges_[place % kMax];
    uint64_t expected = 0;
    if (range.start.compare_exchange_strong(expected, kTaken, std::memory_order_relaxed)) {
      range.limit.store(limit, std::memory_order_relaxed);
      range.start.store(start, std::memory_order_release);
      return;
    }
  }
}

void AllocatorCode::remove(uint64_t start) {
  for (uint32_t i = 0; i < used(); ++i) {
    uint64_t expected = start;
    ranges_[i].start.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
  }
}

bool AllocatorCode::contains(uint64_t address) const {
  for (uint32_t i = 0; i < used(); ++i) {
    // acquire pairs with the release in add().
    const uint64_t start = ranges_[i].start.load(std::memory_order_acquire);
    if (start > kTaken && address >= start && address < ranges_[i].limit.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace memprof::mappings
