// SPDX-License-Identifier: Apache-2.0
// platform/memory_areas.h where nothing is known of areas of memory.
#include "platform/memory_areas.h"

namespace memprof::platform {

bool each_memory_area(void (*)(const MemoryArea&, void*), void*) {
  return false;
}

MemoryPart holder_of(const MemoryArea&, uint64_t, uint64_t limit, uint64_t* end) {
  *end = limit;
  return MemoryPart::kUnseen;
}

uint64_t resident_bytes_in(uint64_t, uint64_t) {
  return 0;
}

bool counts_without_areas() {
  return false;
}

uint64_t page_bytes() {
  return 4096;
}

}  // namespace memprof::platform
