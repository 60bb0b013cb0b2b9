// SPDX-License-Identifier: Apache-2.0
// Frees chunks of all sizes, none beside another that is free, so that most of the lists of glibc's malloc hold one; ends then.
// Says how much it freed: "truth BYTES".
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kEach = 10, kMaxSizes = 200 };  // more than a thread's cache holds
static char* g_blocks[kMaxSizes][kEach];
static char* volatile g_between;

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  size_t sizes[kMaxSizes];
  int count = 0;
  for (size_t size = 24; size < 1024; size += 16) sizes[count++] = size;
  for (size_t size = 1032; size < 3 << 10; size += 64) sizes[count++] = size;
  for (size_t size = 3 << 10; size < 10 << 10; size += 512) sizes[count++] = size;
  for (size_t size = 11 << 10; size < 40 << 10; size += 4096) sizes[count++] = size;
  for (size_t size = 40 << 10; size < 160 << 10; size += 32768) sizes[count++] = size;
  size_t freed = 0;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < kEach; ++k) {
      g_blocks[i][k] = malloc(sizes[i]);
      if (g_blocks[i][k] == NULL) return 9;
      memset(g_blocks[i][k], 1, sizes[i]);
      g_between = malloc(24);
      freed += sizes[i];
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < kEach; ++k) free(g_blocks[i][k]);
  }
  g_between = malloc(1 << 20);  // what was freed goes to its lists
  printf("truth %zu\n", freed);
  return 0;
}
