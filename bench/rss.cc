// SPDX-License-Identifier: Apache-2.0
// Resident memory of a program that allocates BLOCKS blocks of SIZE bytes through 1024 stacks, keeps them,
// and prints what /proc/self/smaps_rollup says.  The profiler's part is the difference to the same program
// without it.
//
// usage: rss [BLOCKS [SIZE]]
#include "program.h"

namespace {

constexpr uint32_t kLevels = 10;  // two ways each
uint64_t g_returns;

void* descend_left(uint32_t path, uint32_t levels, size_t size);
void* descend_right(uint32_t path, uint32_t levels, size_t size);

void* descend(uint32_t path, uint32_t levels, size_t size) {
  if (levels == 0) {
    return malloc(size);
  }
  return (path & 1) != 0 ? descend_right(path >> 1, levels - 1, size)
                         : descend_left(path >> 1, levels - 1, size);
}

__attribute__((noinline)) void* descend_left(uint32_t path, uint32_t levels, size_t size) {
  void* block = descend(path, levels, size);
  g_returns += 1;
  return block;
}

__attribute__((noinline)) void* descend_right(uint32_t path, uint32_t levels, size_t size) {
  void* block = descend(path, levels, size);
  g_returns += 2;
  return block;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t blocks = bench_argument(argc, argv, 1, 0);
  const size_t size = bench_argument(argc, argv, 2, 64);
  bench_begin();
  for (uint64_t i = 0; i < blocks; ++i) {
    bench_escape(descend(static_cast<uint32_t>(i % 1000), kLevels, size));
  }
  static const char kPath[] = "/proc/self/smaps_rollup";
  const uint64_t rss_kib = bench_proc_kib(kPath, "Rss:");
  const uint64_t dirty_kib = bench_proc_kib(kPath, "Private_Dirty:");
  const memprof_stats stats = bench_stats();
  printf(
      "{\"rss_kib\": %llu, \"dirty_kib\": %llu, \"live_samples\": %llu, \"stacks\": %llu, "
      "\"dropped_samples\": %llu}\n",
      (unsigned long long)rss_kib, (unsigned long long)dirty_kib, (unsigned long long)stats.live_samples,
      (unsigned long long)stats.stacks, (unsigned long long)stats.dropped_samples);
  return 0;
}
