/* SPDX-License-Identifier: Apache-2.0
 *
 * The tight loop: malloc and free of one size, nothing else.  The worst case of an interposer.
 *
 * usage: tight [SLICES [PAIRS_A_SLICE [SIZE]]]
 */
#include "program.h"

/* Named, and not inlined: callgrind counts the instructions inside it. */
__attribute__((noinline)) void tight_loop(uint64_t pairs, size_t size) {
  for (uint64_t i = 0; i < pairs; ++i) {
    void* block = malloc(size);
    bench_escape(block);
    free(block);
  }
}

int main(int argc, char** argv) {
  const uint64_t slices = bench_argument(argc, argv, 1, 40);
  const uint64_t pairs = bench_argument(argc, argv, 2, 500000);
  const size_t size = bench_argument(argc, argv, 3, 64);
  bench_begin();
  tight_loop(10, size); /* the linker binds malloc and free */
  struct bench_turns* turns = bench_turns_begin();
  for (uint64_t i = 0; i < slices; ++i) {
    bench_slice_begin(turns);
    tight_loop(pairs, size);
    bench_slice_end(turns);
  }
  bench_report(slices * pairs, slices * pairs * size, turns);
  return 0;
}
