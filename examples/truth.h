/* SPDX-License-Identifier: Apache-2.0
 *
 * What the examples share: each prints what its heaps really hold, so that a test can compare the profile
 * with it.  A line is: truth HEAP ALLOCATED_BLOCKS ALLOCATED_BYTES LIVE_BLOCKS LIVE_BYTES
 */
#ifndef MEMPROF_EXAMPLES_TRUTH_H_
#define MEMPROF_EXAMPLES_TRUTH_H_

#include <stdint.h>
#include <stdio.h>

struct truth {
  uint64_t allocated_blocks, allocated_bytes, live_blocks, live_bytes;
};

static void truth_allocated(struct truth* t, uint64_t size_bytes) {
  ++t->allocated_blocks;
  ++t->live_blocks;
  t->allocated_bytes += size_bytes;
  t->live_bytes += size_bytes;
}

static void truth_freed(struct truth* t, uint64_t size_bytes) {
  --t->live_blocks;
  t->live_bytes -= size_bytes;
}

static void truth_print(const struct truth* t, const char* heap) {
  printf("truth %s %llu %llu %llu %llu\n", heap, (unsigned long long)t->allocated_blocks,
         (unsigned long long)t->allocated_bytes, (unsigned long long)t->live_blocks,
         (unsigned long long)t->live_bytes);
}

/* Sizes that look like a program's, the same in every run. */
static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

#endif
