// SPDX-License-Identifier: Apache-2.0
// What the test programs share: allocation sites whose frames the profile must show, and the lines on
// standard output that tell the truth about them (tests/e2e/e2e.py reads those).
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A function with a frame of its own: not inlined, and never left by a jump (-fno-optimize-sibling-calls).
#ifdef __clang__
#define SITE_ALONE __attribute__((noinline, optnone, used))
#else
#define SITE_ALONE __attribute__((noinline, noclone, used))
#endif
#ifdef __cplusplus
#define SITE extern "C" SITE_ALONE
#else
#define SITE SITE_ALONE
#endif

// The compiler may not know what a value is, nor drop the work that made it.
static inline void* keep(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}
static inline size_t opaque(size_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

// `leaf`: the function that calls the allocator; `chain`: its callers, joined by `<`, or "-".
static inline void tell(const char* leaf, const char* chain, uint64_t alloc_blocks, uint64_t alloc_bytes,
                        uint64_t live_blocks, uint64_t live_bytes) {
  printf("truth %s %s %llu %llu %llu %llu\n", leaf, chain, (unsigned long long)alloc_blocks,
         (unsigned long long)alloc_bytes, (unsigned long long)live_blocks, (unsigned long long)live_bytes);
}

static inline void die(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(99);
}
