// SPDX-License-Identifier: Apache-2.0
// Many blocks from each function of the family, each from a function of its own, none of which lives: whether
// an allocator's functions that call each other are seen twice shows at a sampling rate only.
#include <malloc.h>

#include <new>

#include "truth.h"

namespace {

constexpr int kBlocks = 20000;
constexpr size_t kSize = 1024;
const std::align_val_t kAlign{64};

void* posix_memalign_block() {
  void* block = nullptr;
  return posix_memalign(&block, 64, opaque(kSize)) == 0 ? block : nullptr;
}

}  // namespace

#define MANY(name, allocate, release)             \
  SITE void name() {                              \
    for (int i = 0; i < kBlocks; ++i) {           \
      void* block = keep(allocate);               \
      if (block == nullptr) die(#name);           \
      release;                                    \
    }                                             \
    printf("%s %d %zu\n", #name, kBlocks, kSize); \
  }

MANY(many_malloc, malloc(opaque(kSize)), free(block))
MANY(many_calloc, calloc(opaque(4), kSize / 4), free(block))
MANY(many_realloc, realloc(nullptr, opaque(kSize)), free(block))
MANY(many_reallocarray, reallocarray(nullptr, opaque(4), kSize / 4), free(block))
MANY(many_posix_memalign, posix_memalign_block(), free(block))
MANY(many_aligned_alloc, aligned_alloc(64, opaque(kSize)), free(block))
MANY(many_memalign, memalign(64, opaque(kSize)), free(block))
MANY(many_valloc, valloc(opaque(kSize)), free(block))
MANY(many_pvalloc, pvalloc(opaque(kSize)), free(block))
MANY(many_new, ::operator new(opaque(kSize)), ::operator delete(block))
MANY(many_new_array, ::operator new[](opaque(kSize)), ::operator delete[](block))
MANY(many_new_nothrow, ::operator new(opaque(kSize), std::nothrow), ::operator delete(block, std::nothrow))
MANY(many_new_array_nothrow, ::operator new[](opaque(kSize), std::nothrow),
     ::operator delete[](block, std::nothrow))
MANY(many_new_aligned, ::operator new(opaque(kSize), kAlign), ::operator delete(block, kAlign))
MANY(many_new_array_aligned, ::operator new[](opaque(kSize), kAlign), ::operator delete[](block, kAlign))
MANY(many_new_aligned_nothrow, ::operator new(opaque(kSize), kAlign, std::nothrow),
     ::operator delete(block, kAlign, std::nothrow))
MANY(many_new_array_aligned_nothrow, ::operator new[](opaque(kSize), kAlign, std::nothrow),
     ::operator delete[](block, kAlign, std::nothrow))

int main() {
  many_malloc();
  many_calloc();
  many_realloc();
  many_reallocarray();
  many_posix_memalign();
  many_aligned_alloc();
  many_memalign();
  many_valloc();
  if (getenv("NO_PVALLOC") == nullptr) many_pvalloc();
  many_new();
  many_new_array();
  many_new_nothrow();
  many_new_array_nothrow();
  many_new_aligned();
  many_new_array_aligned();
  many_new_aligned_nothrow();
  many_new_array_aligned_nothrow();
  return 0;
}
