// SPDX-License-Identifier: Apache-2.0
// A library that life.c opens.
#include <stdlib.h>

__attribute__((noinline)) void* in_library(void) {
  void* block = malloc(1033);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
