// SPDX-License-Identifier: Apache-2.0
// A library that is opened with RTLD_DEEPBIND; or in a namespace of its own.
#include <stdlib.h>
#include <string.h>

void* g_begun;

// Before dlopen returns.
__attribute__((constructor, noinline)) void plug_begin(void) {
  g_begun = malloc(1234);
  free(malloc(4321));
}

__attribute__((destructor)) static void plug_end(void) {
  free(g_begun);
}

__attribute__((noinline)) void* plug_keep(size_t size) {
  void* block = malloc(size);
  memset(block, 1, size);
  return block;
}

__attribute__((noinline)) void plug_free(void* block) {
  free(block);
}

__attribute__((noinline)) void* plug_grow(void* block, size_t size) {
  return realloc(block, size);
}
