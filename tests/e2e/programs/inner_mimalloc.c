// SPDX-License-Identifier: Apache-2.0
// Loads mimalloc (argument) and allocates by its own interface, from a heap, too, which is destroyed with what is in it.
#include <dlfcn.h>

#include "truth.h"

enum { kBlocks = 1000 };
static void* g_blocks[kBlocks];

static void* (*mi_malloc)(size_t);
static void* (*mi_zalloc_aligned)(size_t, size_t);
static void* (*mi_realloc)(void*, size_t);
static void (*mi_free)(void*);
static void* (*mi_heap_new)(void);
static void* (*mi_heap_malloc)(void*, size_t);
static void (*mi_heap_destroy)(void*);

__attribute__((noinline)) static void* keep_one(size_t size) {
  return mi_malloc(size);
}
__attribute__((noinline)) static void* keep_aligned(size_t size) {
  return mi_zalloc_aligned(size, 64);
}
__attribute__((noinline)) static void* keep_in_heap(void* heap, size_t size) {
  return mi_heap_malloc(heap, size);
}

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) die(name);
  return found;
}

int main(int argc, char** argv) {
  if (argc < 2) die("which mimalloc?");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die(dlerror());
  mi_malloc = (void* (*)(size_t))find(library, "mi_malloc");
  mi_zalloc_aligned = (void* (*)(size_t, size_t))find(library, "mi_zalloc_aligned");
  mi_realloc = (void* (*)(void*, size_t))find(library, "mi_realloc");
  mi_free = (void (*)(void*))find(library, "mi_free");
  mi_heap_new = (void* (*)(void))find(library, "mi_heap_new");
  mi_heap_malloc = (void* (*)(void*, size_t))find(library, "mi_heap_malloc");
  mi_heap_destroy = (void (*)(void*))find(library, "mi_heap_destroy");
  size_t kept = 0;
  size_t count = 0;
  for (size_t i = 0; i < kBlocks; ++i) {
    const size_t size = 100 + 8 * i;
    g_blocks[i] = i % 2 ? keep_one(size) : keep_aligned(size);
    memset(g_blocks[i], 1, size);
    if (i % 4 == 3) {
      mi_free(g_blocks[i]);
    } else {
      kept += size;
      ++count;
    }
  }
  void* heap = mi_heap_new();
  for (size_t i = 0; i < kBlocks; ++i) memset(keep_in_heap(heap, 500 + i), 1, 500 + i);
  if (argc > 2) {
    for (size_t i = 0; i < kBlocks; ++i) kept += 500 + i;
    count += kBlocks;
  } else {
    mi_heap_destroy(heap);
  }
  printf("truth %zu %zu\n", kept, count);
  return 0;
}
