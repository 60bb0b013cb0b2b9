// SPDX-License-Identifier: Apache-2.0
// An allocator to stand behind memprof: lock-free, so that signal handlers may call it; nothing is reused but
// the space. Its calloc calls malloc, as some do (lesson 18).
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { kHeader = 16, kAlignment = 16 };
#define REGION ((size_t)1 << 36)

static _Atomic(char*) g_next;

static char* take(size_t bytes) {
  char* next = atomic_load(&g_next);
  if (next == NULL) {
    char* region =
        mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char* expected = NULL;
    if (region == MAP_FAILED) return NULL;
    if (!atomic_compare_exchange_strong(&g_next, &expected, region)) munmap(region, REGION);
  }
  return atomic_fetch_add(&g_next, (ptrdiff_t)bytes);
}

void* memalign(size_t alignment, size_t size) {
  if (size > REGION / 2) {
    errno = ENOMEM;
    return NULL;
  }
  if (alignment < kAlignment) alignment = kAlignment;
  char* raw = take((size + alignment + kHeader + kAlignment - 1) / kAlignment * kAlignment);
  if (raw == NULL) return NULL;
  char* block = (char*)(((uintptr_t)raw + kHeader + alignment - 1) & ~(uintptr_t)(alignment - 1));
  ((size_t*)block)[-1] = size;
  return block;
}

void* malloc(size_t size) {
  return memalign(kAlignment, size);
}

void free(void* block) {
  (void)block;
}

void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return malloc(bytes);  // fresh pages are zero
}

void* realloc(void* block, size_t size) {
  void* moved = malloc(size);
  if (block != NULL && moved != NULL) {
    const size_t old = ((size_t*)block)[-1];
    memcpy(moved, block, old < size ? old : size);
  }
  return moved;
}

#ifndef BARE
int posix_memalign(void** result, size_t alignment, size_t size) {
  *result = memalign(alignment, size);
  return *result == NULL ? ENOMEM : 0;
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

void* valloc(size_t size) {
  return memalign(4096, size);
}

void* pvalloc(size_t size) {
  return memalign(4096, (size + 4095) & ~(size_t)4095);
}
#endif

size_t malloc_usable_size(void* block) {
  return block == NULL ? 0 : ((size_t*)block)[-1];
}
