// SPDX-License-Identifier: Apache-2.0
// As a library: an allocator that has malloc, calloc, realloc and free only, and ends the process where a block is not its
// own.  As a program: calls what it lacks, which must come to it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY

void* __libc_malloc(size_t size);
void __libc_free(void* block);

struct header {
  size_t size;
  size_t magic;
};
enum { kMagic = 0x600dc0de };

void* malloc(size_t size) {
  struct header* h = __libc_malloc(sizeof(*h) + size);
  if (h == NULL) return NULL;
  h->size = size;
  h->magic = kMagic;
  return h + 1;
}
static struct header* own(void* block) {
  struct header* h = (struct header*)block - 1;
  if (h->magic != kMagic) _exit(9);
  return h;
}
void free(void* block) {
  if (block != NULL) __libc_free(own(block));
}
void* calloc(size_t count, size_t size) {
  void* block = malloc(count * size);
  return block != NULL ? memset(block, 0, count * size) : NULL;
}
void* realloc(void* block, size_t size) {
  if (block == NULL) return malloc(size);
  void* moved = malloc(size);
  const size_t old = own(block)->size;
  if (moved != NULL) memcpy(moved, block, old < size ? old : size);
  free(block);
  return moved;
}

#else

void free_sized(void* block, size_t size) __attribute__((weak));
void free_aligned_sized(void* block, size_t alignment, size_t size) __attribute__((weak));

int main(void) {
  char* text = malloc(6);
  strcpy(text, "hello");
  for (size_t i = 1; i <= 1000; ++i) text = reallocarray(text, i, 100);
  puts(text);
  free(reallocarray(NULL, 3, 5000));
  free(text);
  if (free_sized) free_sized(malloc(100), 100);
  if (free_aligned_sized) free_aligned_sized(malloc(64), 16, 64);
  return 0;
}

#endif
