// SPDX-License-Identifier: Apache-2.0
// Every function of the allocation family, each from a function of its own that allocates 3 blocks; one of
// them is freed. The exact numbers of each site go to standard output.
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "truth.h"

namespace {

constexpr int kBlocks = 3;
using Allocate = void* (*)();
using Free = void (*)(void*);

const std::align_val_t kAlign{64};
void* g_sink;
const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

}  // namespace

#define ALLOCATION(name, expression)  \
  SITE void* name() {                 \
    void* block = keep(expression);   \
    if (block == nullptr) die(#name); \
    return block;                     \
  }

// Prime sizes, so that no sum of one can be taken for another.
ALLOCATION(site_malloc, malloc(opaque(1009)))
ALLOCATION(site_malloc_0, malloc(opaque(0)))
ALLOCATION(site_malloc_1, malloc(opaque(1)))
ALLOCATION(site_malloc_rate, malloc(opaque(524288)))
ALLOCATION(site_malloc_10_rates, malloc(opaque(5242880)))
ALLOCATION(site_malloc_1g, malloc(opaque(size_t{1} << 30)))
ALLOCATION(site_calloc, calloc(opaque(7), opaque(1013)))
ALLOCATION(site_realloc_null, realloc(nullptr, opaque(1019)))
ALLOCATION(site_reallocarray, reallocarray(nullptr, opaque(3), opaque(1021)))
ALLOCATION(site_aligned_alloc, aligned_alloc(64, opaque(1088)))
ALLOCATION(site_memalign, memalign(128, opaque(1031)))
ALLOCATION(site_valloc, valloc(opaque(1033)))
ALLOCATION(site_pvalloc, pvalloc(opaque(1039)))
SITE void* site_posix_memalign() {
  void* block = nullptr;
  if (posix_memalign(&block, 256, opaque(1049)) != 0) die("posix_memalign");
  return keep(block);
}
ALLOCATION(site_new, ::operator new(opaque(1051)))
ALLOCATION(site_new_array, ::operator new[](opaque(1061)))
ALLOCATION(site_new_nothrow, ::operator new(opaque(1063), std::nothrow))
ALLOCATION(site_new_array_nothrow, ::operator new[](opaque(1069), std::nothrow))
ALLOCATION(site_new_aligned, ::operator new(opaque(1087), kAlign))
ALLOCATION(site_new_array_aligned, ::operator new[](opaque(1091), kAlign))
ALLOCATION(site_new_aligned_nothrow, ::operator new(opaque(1093), kAlign, std::nothrow))
ALLOCATION(site_new_array_aligned_nothrow, ::operator new[](opaque(1097), kAlign, std::nothrow))
ALLOCATION(site_new_0, ::operator new(opaque(0)))

// A block that grows: what is allocated is here, what is freed belongs to grown_from.
SITE void* grown_from() {
  return keep(malloc(opaque(103)));
}
SITE void* site_realloc() {
  return keep(realloc(grown_from(), opaque(1103)));
}

// Blocks for each form of free and delete.
ALLOCATION(for_free, malloc(opaque(2003)))
ALLOCATION(for_free_sized, malloc(opaque(2011)))
ALLOCATION(for_free_aligned_sized, aligned_alloc(64, opaque(2048)))
ALLOCATION(for_realloc_0, malloc(opaque(2017)))
ALLOCATION(for_delete, ::operator new(opaque(2027)))
ALLOCATION(for_delete_array, ::operator new[](opaque(2029)))
ALLOCATION(for_delete_sized, ::operator new(opaque(2039)))
ALLOCATION(for_delete_array_sized, ::operator new[](opaque(2053)))
ALLOCATION(for_delete_nothrow, ::operator new(opaque(2063), std::nothrow))
ALLOCATION(for_delete_array_nothrow, ::operator new[](opaque(2069), std::nothrow))
ALLOCATION(for_delete_aligned, ::operator new(opaque(2081), kAlign))
ALLOCATION(for_delete_array_aligned, ::operator new[](opaque(2083), kAlign))
ALLOCATION(for_delete_sized_aligned, ::operator new(opaque(2087), kAlign))
ALLOCATION(for_delete_array_sized_aligned, ::operator new[](opaque(2089), kAlign))
ALLOCATION(for_delete_aligned_nothrow, ::operator new(opaque(2099), kAlign, std::nothrow))
ALLOCATION(for_delete_array_aligned_nothrow, ::operator new[](opaque(2111), kAlign, std::nothrow))

SITE void each_allocation(const char* name, Allocate allocate, size_t size) {
  for (int i = 0; i < kBlocks; ++i) {
    g_sink = allocate();
  }
  free(g_sink);
  tell(name, "each_allocation<main", kBlocks, kBlocks * size, kBlocks - 1, (kBlocks - 1) * size);
}

SITE void each_free(const char* name, Allocate allocate, Free release, size_t size) {
  for (int i = 0; i < kBlocks; ++i) {
    g_sink = allocate();
    if (i > 0) release(g_sink);
  }
  tell(name, "each_free<main", kBlocks, kBlocks * size, 1, size);
}

#define FREE(site, size, expression) each_free(#site, site, [](void* p) { expression; }, size)

int main() {
  // The terminal or file behind standard output must not allocate in between.
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));

#define EACH(site, size) each_allocation(#site, site, size)
  EACH(site_malloc, 1009);
  EACH(site_malloc_0, 0);
  EACH(site_malloc_1, 1);
  EACH(site_malloc_rate, 524288);
  EACH(site_malloc_10_rates, 5242880);
  EACH(site_malloc_1g, size_t{1} << 30);
  EACH(site_calloc, 7 * 1013);
  EACH(site_realloc_null, 1019);
  EACH(site_reallocarray, 3 * 1021);
  EACH(site_aligned_alloc, 1088);
  EACH(site_memalign, 1031);
  EACH(site_valloc, 1033);
  // jemalloc has none, so that free of its blocks crashes, with memprof and without.
  if (getenv("NO_PVALLOC") == nullptr) EACH(site_pvalloc, 1039);
  EACH(site_posix_memalign, 1049);
  EACH(site_realloc, 1103);
  tell("grown_from", "site_realloc<each_allocation<main", kBlocks, kBlocks * 103, 0, 0);

  FREE(site_new, 1051, ::operator delete(p));
  FREE(site_new_array, 1061, ::operator delete[](p));
  FREE(site_new_nothrow, 1063, ::operator delete(p));
  FREE(site_new_array_nothrow, 1069, ::operator delete[](p));
  FREE(site_new_aligned, 1087, ::operator delete(p, kAlign));
  FREE(site_new_array_aligned, 1091, ::operator delete[](p, kAlign));
  FREE(site_new_aligned_nothrow, 1093, ::operator delete(p, kAlign));
  FREE(site_new_array_aligned_nothrow, 1097, ::operator delete[](p, kAlign));
  FREE(site_new_0, 0, ::operator delete(p));

  FREE(for_free, 2003, free(p));
  // C23; glibc has them from 2.43 on, an older one with memprof in front has memprof's.
  using FreeSized = void (*)(void*, size_t);
  using FreeAlignedSized = void (*)(void*, size_t, size_t);
  static const auto free_sized = reinterpret_cast<FreeSized>(dlsym(RTLD_DEFAULT, "free_sized"));
  static const auto free_aligned_sized =
      reinterpret_cast<FreeAlignedSized>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
  if (free_sized != nullptr && free_aligned_sized != nullptr) {
    FREE(for_free_sized, 2011, free_sized(p, 2011));
    FREE(for_free_aligned_sized, 2048, free_aligned_sized(p, 64, 2048));
  } else if (getenv("NO_FREE_SIZED") == nullptr) {
    die("no free_sized");
  }
  FREE(for_delete, 2027, ::operator delete(p));
  FREE(for_delete_array, 2029, ::operator delete[](p));
  FREE(for_delete_sized, 2039, ::operator delete(p, size_t{2039}));
  FREE(for_delete_array_sized, 2053, ::operator delete[](p, size_t{2053}));
  FREE(for_delete_nothrow, 2063, ::operator delete(p, std::nothrow));
  FREE(for_delete_array_nothrow, 2069, ::operator delete[](p, std::nothrow));
  FREE(for_delete_aligned, 2081, ::operator delete(p, kAlign));
  FREE(for_delete_array_aligned, 2083, ::operator delete[](p, kAlign));
  FREE(for_delete_sized_aligned, 2087, ::operator delete(p, size_t{2087}, kAlign));
  FREE(for_delete_array_sized_aligned, 2089, ::operator delete[](p, size_t{2089}, kAlign));
  FREE(for_delete_aligned_nothrow, 2099, ::operator delete(p, kAlign, std::nothrow));
  FREE(for_delete_array_aligned_nothrow, 2111, ::operator delete[](p, kAlign, std::nothrow));
  // glibc frees and gives nothing; other allocators give a smallest block, which is realloc's then.
  FREE(for_realloc_0, 2017, free(realloc(p, opaque(0))));
  return 0;
}
