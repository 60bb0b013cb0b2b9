/* SPDX-License-Identifier: Apache-2.0
 *
 * What an allocator pays that reports itself: pairs of a report of a block and of its end, nothing else.
 * Linked with the library, which is on at a rate at which nothing is sampled.
 *
 * usage: report [none|inline|call [PAIRS]]
 */
#include "program.h"

/* Named, and not inlined: callgrind counts the instructions inside them. */
__attribute__((noinline)) void report_loop_none(uint64_t pairs, void* block, size_t size) {
  for (uint64_t i = 0; i < pairs; ++i) {
    bench_escape(block);
    bench_escape((void*)size);
  }
}

__attribute__((noinline)) void report_loop_inline(uint64_t pairs, void* block, size_t size) {
  for (uint64_t i = 0; i < pairs; ++i) {
    memprof_report_alloc_inline(block, size, 0);
    bench_escape(block);
    memprof_report_free_inline(block);
    bench_escape((void*)size);
  }
}

__attribute__((noinline)) void report_loop_call(uint64_t pairs, void* block, size_t size) {
  for (uint64_t i = 0; i < pairs; ++i) {
    memprof_report_alloc(block, size, 0);
    bench_escape(block);
    memprof_report_free(block);
    bench_escape((void*)size);
  }
}

int main(int argc, char** argv) {
  static char block[64];
  const char* way = argc > 1 ? argv[1] : "inline";
  const uint64_t pairs = bench_argument(argc, argv, 2, 10000000);
  void (*const loop)(uint64_t, void*, size_t) = strcmp(way, "none") == 0   ? report_loop_none
                                                : strcmp(way, "call") == 0 ? report_loop_call
                                                                           : report_loop_inline;
  memprof_options options;
  if (memprof_options_init(&options, sizeof(options)) != 0) {
    bench_fail("memprof_options_init");
  }
  options.rate_bytes = (uint64_t)1 << 50;
  if (memprof_init(&options) != 0 || memprof_start() != 0) {
    bench_fail("the profiler did not start");
  }
  const uint64_t start_ns = bench_cpu_ns();
  loop(pairs, block, sizeof(block));
  const uint64_t ns = bench_cpu_ns() - start_ns;
  memprof_stats stats;
  stats.struct_size = sizeof(stats);
  if (memprof_get_stats(&stats) != 0 || stats.samples != 0) {
    bench_fail("something was sampled");
  }
  printf("{\"way\": \"%s\", \"pairs\": %llu, \"ns_a_pair\": %.3f}\n", way, (unsigned long long)pairs,
         (double)ns / (double)pairs);
  return 0;
}
