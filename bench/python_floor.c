// SPDX-License-Identifier: Apache-2.0
// What any hook of Python's allocators costs at least, in whole programs: preloaded, it goes in front of
// malloc, calloc and realloc of both domains, as memprof does, leaves free alone, and does nothing; with
// BENCH_COUNTS, it subtracts the size of what pymalloc serves from a counter of the thread, and never looks
// at it.
#include <stddef.h>
#include <stdint.h>

#include "program.h"

typedef struct {
  void* ctx;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*);
} Allocator;

static Allocator g_mem, g_object;

#ifdef BENCH_COUNTS
static __thread uint64_t t_left = (uint64_t)1 << 62;
#define COUNT(SIZE)                                     \
  if (__builtin_expect(SIZE <= 512, 1)) t_left -= SIZE; \
  __asm__ volatile("" ::: "memory");
#else
#define COUNT(SIZE)
#endif

#define FLOOR(DOMAIN)                                                                                        \
  static void* DOMAIN##_malloc(void* ctx, size_t size) {                                                     \
    COUNT(size)                                                                                              \
    return g_##DOMAIN.malloc(ctx, size);                                                                     \
  }                                                                                                          \
  static void* DOMAIN##_calloc(void* ctx, size_t count, size_t size) {                                       \
    return g_##DOMAIN.calloc(ctx, count, size);                                                              \
  }                                                                                                          \
  static void* DOMAIN##_realloc(void* ctx, void* block, size_t size) {                                       \
    return g_##DOMAIN.realloc(ctx, block, size);                                                             \
  }                                                                                                          \
  static void DOMAIN##_install(int number, void (*get)(int, Allocator*), void (*set)(int, Allocator*)) {     \
    get(number, &g_##DOMAIN);                                                                                \
    Allocator hooks = {g_##DOMAIN.ctx, DOMAIN##_malloc, DOMAIN##_calloc, DOMAIN##_realloc, g_##DOMAIN.free}; \
    set(number, &hooks);                                                                                     \
  }
FLOOR(mem)
FLOOR(object)

__attribute__((constructor)) static void install(void) {
  void (*get)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_GetAllocator");
  void (*set)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_SetAllocator");
  if (get != NULL && set != NULL) {
    mem_install(1, get, set);
    object_install(2, get, set);
  }
}
