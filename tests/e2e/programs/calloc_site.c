// SPDX-License-Identifier: Apache-2.0
// calloc through an allocator whose calloc calls malloc: counted once, and for the program's function.
#include "truth.h"

static void* g_block;

SITE void* calling_calloc(void) {
  return keep(calloc(opaque(10), opaque(101)));
}

int main(void) {
  for (int i = 0; i < 100; ++i) {
    free(g_block);
    g_block = calling_calloc();
  }
  tell("calling_calloc", "main", 100, 100 * 1010, 1, 1010);
  return 0;
}
