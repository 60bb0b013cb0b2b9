// SPDX-License-Identifier: Apache-2.0
// The hooks of Python's allocators that do nothing: one indirect jump each; and a loop over them.  For
// objects.py, which loads this by ctypes.  With BENCH_PRELOADED, for whole programs: in front of malloc,
// calloc and realloc from the start, as memprof is, and not of free; with BENCH_COUNTS, malloc subtracts the
// size of what pymalloc serves from a counter of the thread, and never looks at it.
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

#define NOOP(DOMAIN)                                                   \
  static void* DOMAIN##_malloc(void* ctx, size_t size) {               \
    COUNT(size)                                                        \
    return g_##DOMAIN.malloc(ctx, size);                               \
  }                                                                    \
  static void* DOMAIN##_calloc(void* ctx, size_t count, size_t size) { \
    return g_##DOMAIN.calloc(ctx, count, size);                        \
  }                                                                    \
  static void* DOMAIN##_realloc(void* ctx, void* block, size_t size) { \
    return g_##DOMAIN.realloc(ctx, block, size);                       \
  }                                                                    \
  static void DOMAIN##_free(void* ctx, void* block) {                  \
    g_##DOMAIN.free(ctx, block);                                       \
  }
NOOP(mem)
NOOP(object)

static void install(int with_free) {
  void (*get)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_GetAllocator");
  void (*set)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_SetAllocator");
  if (get == NULL || set == NULL) return;  // a program that is no Python
  get(1, &g_mem);
  get(2, &g_object);
  Allocator mem = {g_mem.ctx, mem_malloc, mem_calloc, mem_realloc, with_free ? mem_free : g_mem.free};
  Allocator object = {g_object.ctx, object_malloc, object_calloc, object_realloc,
                      with_free ? object_free : g_object.free};
  set(1, &mem);
  set(2, &object);
}

#ifdef BENCH_PRELOADED
__attribute__((constructor)) static void install_at_start(void) {
  install(0);
}
#endif

void object_noop_install(void) {
  install(1);
}

// Allocates and frees as Python does, through its own function.
void object_loop(uint64_t count, size_t size) {
  void* (*allocate)(size_t) = (void* (*)(size_t))bench_function("PyObject_Malloc");
  void (*release)(void*) = (void (*)(void*))bench_function("PyObject_Free");
  for (uint64_t i = 0; i < count; ++i) {
    void* block = allocate(size);
    bench_escape(block);
    release(block);
  }
}
