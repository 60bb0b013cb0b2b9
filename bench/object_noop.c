// SPDX-License-Identifier: Apache-2.0
// The hooks of Python's allocators that do nothing: one indirect jump each; and a loop over them.  For
// objects.py, which loads this by ctypes.
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

#define NOOP(DOMAIN)                                                   \
  static void* DOMAIN##_malloc(void* ctx, size_t size) {               \
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

void object_noop_install(void) {
  void (*get)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_GetAllocator");
  void (*set)(int, Allocator*) = (void (*)(int, Allocator*))bench_function("PyMem_SetAllocator");
  get(1, &g_mem);
  get(2, &g_object);
  Allocator mem = {g_mem.ctx, mem_malloc, mem_calloc, mem_realloc, mem_free};
  Allocator object = {g_object.ctx, object_malloc, object_calloc, object_realloc, object_free};
  set(1, &mem);
  set(2, &object);
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
