// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/sampled_filter.h"

namespace memprof {

alignas(4096) SampledFilter g_sampled_filter;

bool SampledFilter::mark(uintptr_t address) {
  std::atomic<uint8_t>& slot = slots_[index(address)];
  uint8_t old = slot.load(std::memory_order_relaxed);
  while (old != kSaturated) {
    const int marked = old == 0 ? place(address) : old <= kPlaces ? kPlaces + 2 : old + 1;
    if (slot.compare_exchange_weak(old, static_cast<uint8_t>(marked), std::memory_order_relaxed)) {
      return marked == kSaturated;
    }
  }
  return false;
}

void SampledFilter::unmark(uintptr_t address) {
  std::atomic<uint8_t>& slot = slots_[index(address)];
  uint8_t old = slot.load(std::memory_order_relaxed);
  while (old != kSaturated && (old > kPlaces || old == place(address))) {
    const int left = old <= kPlaces + 1 ? 0 : old - 1;
    if (slot.compare_exchange_weak(old, static_cast<uint8_t>(left), std::memory_order_relaxed)) {
      return;
    }
  }
}

void SampledFilter::clear() {
  for (std::atomic<uint8_t>& slot : slots_) {
    const uint8_t old = slot.load(std::memory_order_relaxed);
    if (old != 0 && old != kSaturated) {
      slot.store(0, std::memory_order_relaxed);
    }
  }
}

void SampledFilter::mark_permanently(uintptr_t first, size_t size_bytes) {
  const uintptr_t granule = uintptr_t{1} << kGranuleBits;
  for (uintptr_t address = first & ~(granule - 1); address < first + size_bytes; address += granule) {
    slots_[index(address)].store(kSaturated, std::memory_order_relaxed);
  }
}

}  // namespace memprof
