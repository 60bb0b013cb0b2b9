// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/near_pages.h"

#include <sys/mman.h>

#include "platform/linux/memory/mappings.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/memory.h"
#include "platform/memory_areas.h"

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace memprof::platform {
namespace {

constexpr uint64_t kReach = (uint64_t{1} << 31) - (uint64_t{1} << 20);
constexpr size_t kBufferBytes = 64 * 1024;
// From its neighbours: room for a stack or a heap to grow into.
constexpr uint64_t kDistance = 64 * kSmallestPage;
constexpr uint64_t kLowest = 1 << 20;
constexpr int kMaxTries = 8;  // others may map there meanwhile

uint64_t difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

// The free place that is nearest to the middle of [low, high); 0: none is near enough.
uint64_t find_place(uint64_t low, uint64_t high, size_t size_bytes, char* buffer) {
  MappingReader reader("/proc/self/maps", buffer, kBufferBytes);
  const uint64_t middle = low + (high - low) / 2;
  uint64_t best = 0;
  uint64_t previous = kLowest;
  const auto consider = [&](uint64_t place) {
    const bool is_near = difference(place, high) < kReach && difference(place + size_bytes, low) < kReach &&
                         difference(place, low) < kReach && difference(place + size_bytes, high) < kReach;
    if (is_near && (best == 0 || difference(place, middle) < difference(best, middle))) {
      best = place;
    }
  };
  Mapping m;
  while (reader.next(&m)) {
    if (m.start > previous && m.start - previous >= size_bytes + 2 * kDistance) {
      consider(previous + kDistance);
      consider((m.start - kDistance - size_bytes) & ~(kSmallestPage - 1));
    }
    previous = m.limit > previous ? m.limit : previous;
  }
  return best;
}

}  // namespace

void* map_near(uint64_t low, uint64_t high, size_t size_bytes) {
  auto* buffer = static_cast<char*>(reserve_pages(kBufferBytes));
  void* found = nullptr;
  for (int i = 0; buffer != nullptr && found == nullptr && i < kMaxTries; ++i) {
    const uint64_t place = find_place(low, high, size_bytes, buffer);
    if (place == 0) {
      break;
    }
    void* wanted = reinterpret_cast<void*>(place);
    void* pages = map_own(wanted, size_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages == wanted) {
      found = pages;
    } else if (pages != MAP_FAILED) {  // a kernel that does not know the flag
      unmap_own(pages, size_bytes);
    }
  }
  if (buffer != nullptr) {
    release_pages(buffer, kBufferBytes);
  }
  return found;
}

}  // namespace memprof::platform
