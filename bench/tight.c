/* SPDX-License-Identifier: Apache-2.0
 *
 * The tight loop: malloc and free of one size, nothing else.  The worst case of an interposer.
 *
 * usage: tight [PAIRS [SIZE]]
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
  const uint64_t pairs = bench_argument(argc, argv, 1, 20000000);
  const size_t size = bench_argument(argc, argv, 2, 64);
  bench_begin();
  tight_loop(10, size); /* the linker binds malloc and free */
  const uint64_t begin = bench_cpu_ns();
  tight_loop(pairs, size);
  const uint64_t end = bench_cpu_ns();
  bench_report(pairs, end - begin, pairs * size);
  return 0;
}
