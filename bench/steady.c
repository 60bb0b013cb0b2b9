/* SPDX-License-Identifier: Apache-2.0
 *
 * A second of a program that allocates so many blocks a second, of one size: one block is freed, and one allocated in its
 * place and written to, through eight stacks of sixteen frames; 10,000 blocks live.  Nothing waits: what a second of such
 * a program costs is what so many operations take.
 *
 * usage: steady [SLICES [OPERATIONS_A_SLICE [SIZE]]]
 */
#include <string.h>

#include "program.h"

enum { kLive = 10000, kDepth = 12, kPlaces = 8 };

static void* g_live[kLive];

static __attribute__((noinline)) void replace_block(uint64_t index, size_t size) {
  free(g_live[index]);
  void* block = malloc(size);
  if (block == NULL) {
    bench_fail("no memory");
  }
  memset(block, 1, size < 64 ? size : 64);
  g_live[index] = block;
}

/* `volatile`: each call stays a call, with a frame of its own. */
static __attribute__((noinline)) void descend(uint64_t index, size_t size, volatile unsigned* depth) {
  if (*depth == 0) {
    replace_block(index, size);
  } else {
    *depth = *depth - 1;
    descend(index, size, depth);
    *depth = *depth + 1;
  }
}

#define PLACE(n)                                                                                           \
  static __attribute__((noinline)) void place_##n(uint64_t index, size_t size, volatile unsigned* depth) { \
    descend(index, size, depth);                                                                           \
    *depth = kDepth;                                                                                       \
  }
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)

/* Named, and not inlined: callgrind counts the instructions inside it. */
__attribute__((noinline)) void steady_loop(uint64_t operations, size_t size) {
  static void (*const places[kPlaces])(uint64_t, size_t, volatile unsigned*) = {
      place_0, place_1, place_2, place_3, place_4, place_5, place_6, place_7};
  static uint64_t random = 88172645463325252u;
  volatile unsigned depth = kDepth;
  for (uint64_t i = 0; i < operations; ++i) {
    random ^= random << 13; /* xorshift */
    random ^= random >> 7;
    random ^= random << 17;
    places[random % kPlaces]((random >> 8) % kLive, size, &depth);
  }
}

int main(int argc, char** argv) {
  const uint64_t slices = bench_argument(argc, argv, 1, 60);
  const uint64_t operations = bench_argument(argc, argv, 2, 50000);
  const size_t size = bench_argument(argc, argv, 3, 100);
  bench_begin();
  for (uint64_t i = 0; i < kLive; ++i) {
    replace_block(i, size);
  }
  struct bench_turns* turns = bench_turns_begin();
  for (uint64_t i = 0; i < slices; ++i) {
    bench_slice_begin(turns);
    steady_loop(operations, size);
    bench_slice_end(turns);
  }
  bench_report(slices * operations, slices * operations * size, turns);
  return 0;
}
