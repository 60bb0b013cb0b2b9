// SPDX-License-Identifier: Apache-2.0
// Allocates as early as a program can: before any constructor, and in a constructor of the first priority.
// Built lazily bound and bound at once.
#include "truth.h"

static void* g_blocks[3];

SITE void* from_preinit(void) {
  return keep(malloc(opaque(1501)));
}
SITE void* from_constructor(void) {
  return keep(calloc(opaque(1), opaque(1502)));
}
SITE void* from_main(void) {
  return keep(realloc(NULL, opaque(1503)));
}

static void preinit(void) {
  g_blocks[0] = from_preinit();
}
__attribute__((section(".preinit_array"), used)) static void (*const g_preinit)(void) = preinit;

__attribute__((constructor(101))) static void construct(void) {
  g_blocks[1] = from_constructor();
}

int main(void) {
  g_blocks[2] = from_main();
  // Before libc knows the environment nothing can be switched on.
  tell("from_preinit", "preinit", 0, 0, 0, 0);
  tell("from_constructor", "construct", 1, 1502, 1, 1502);
  tell("from_main", "main", 1, 1503, 1, 1503);
  return g_blocks[0] == NULL || g_blocks[1] == NULL || g_blocks[2] == NULL;
}
