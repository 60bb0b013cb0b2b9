// SPDX-License-Identifier: Apache-2.0
// How large allocators make a block.
#pragma once

#include <cstdint>

namespace memprof::resident {

// What an allocator other than glibc's gives for `size_bytes`: jemalloc and mimalloc have four classes from a power of
// two to the next one, CPython's has each multiple of 16 to 512.
inline uint64_t class_bytes(uint64_t size_bytes) {
  uint64_t step = 16;
  for (uint64_t size = size_bytes == 0 ? 1 : size_bytes; step < size / 8; step *= 2) {
  }
  return size_bytes == 0 ? 16 : (size_bytes + step - 1) / step * step;
}

}  // namespace memprof::resident
