// SPDX-License-Identifier: Apache-2.0
// Pages of the seam (platform/memory.h): anonymous mappings.
#include <sys/mman.h>

#include "platform/memory.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0  // not every system promises memory before it is touched
#endif

namespace memprof::platform {

void* reserve_pages(size_t size_bytes) {
  void* p =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED ? p : nullptr;
}

void release_pages(void* start, size_t size_bytes) {
  munmap(start, size_bytes);
}

}  // namespace memprof::platform
