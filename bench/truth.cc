// SPDX-License-Identifier: Apache-2.0
// A profiled program that knows the truth: it allocates, replaces and frees blocks of 16 to 4096 bytes on
// four threads, then compares what it did with what the profiler's snapshot says, and after it freed
// everything, with 0.
//
// usage: truth [OPERATIONS]          (with memprof preloaded and BENCH_PROFILER=on)
#include <pthread.h>

#include "program.h"

namespace {

constexpr uint64_t kThreads = 4;
constexpr uint64_t kLiveBlocks = 25000;

struct Worker {
  pthread_t thread;
  uint64_t operations;
  uint64_t random;
  void* blocks[kLiveBlocks];
  uint32_t sizes[kLiveBlocks];
  double allocated_bytes, allocated_blocks;
};
Worker g_workers[kThreads];

uint64_t next_random(Worker& w) {
  w.random ^= w.random >> 12;
  w.random ^= w.random << 25;
  w.random ^= w.random >> 27;
  return w.random * 0x2545f4914f6cdd1dull;
}

void* work(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  for (uint64_t i = 0; i < w.operations; ++i) {
    const uint64_t r = next_random(w);
    const uint64_t slot = (r >> 32) * kLiveBlocks >> 32;
    const uint32_t magnitude = 4 + r % 8;  // 16 to 4095, as many of each power of two
    const uint32_t size = (1u << magnitude) + ((r >> 8) & ((1u << magnitude) - 1));
    free(w.blocks[slot]);
    w.blocks[slot] = malloc(size);
    w.sizes[slot] = size;
    w.allocated_bytes += size;
    w.allocated_blocks += 1;
  }
  return nullptr;
}

struct Estimates {
  double live_bytes, live_blocks, allocated_bytes, allocated_blocks;
  uint64_t live_samples;
};

template <typename Function>
Function* find(const char* name) {
  void* found = bench_function(name);
  if (found == nullptr) {
    bench_fail("memprof is not loaded");
  }
  return reinterpret_cast<Function*>(found);
}

Estimates estimates() {
  memprof_snapshot* snapshot = nullptr;
  if (find<decltype(memprof_get_snapshot)>("memprof_get_snapshot")(&snapshot) != MEMPROF_OK) {
    bench_fail("no snapshot");
  }
  memprof_snapshot_info info{};
  info.struct_size = sizeof(info);
  find<decltype(memprof_snapshot_get_info)>("memprof_snapshot_get_info")(snapshot, &info);
  Estimates e{info.live_weight_bytes, info.live_weight_count, 0, 0, 0};
  find<decltype(memprof_snapshot_records)>("memprof_snapshot_records")(snapshot, &e.live_samples);
  uint64_t stacks;
  const memprof_stack* stack =
      find<decltype(memprof_snapshot_stacks)>("memprof_snapshot_stacks")(snapshot, &stacks);
  for (uint64_t i = 0; i < stacks; ++i) {
    e.allocated_bytes += stack[i].allocated.weight_bytes;
    e.allocated_blocks += stack[i].allocated.weight_count;
  }
  find<decltype(memprof_free_snapshot)>("memprof_free_snapshot")(snapshot);
  return e;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t operations = bench_argument(argc, argv, 1, 4000000);
  // What thread creation allocates is kept by the C library; it is no part of the truth, so it comes first.
  for (uint64_t t = 0; t < kThreads; ++t) {
    Worker& w = g_workers[t];
    w.random = 0x9e3779b97f4a7c15ull * (t + 1);
    if (pthread_create(&w.thread, nullptr, work, &w) != 0) {
      bench_fail("no thread");
    }
  }
  for (Worker& w : g_workers) {
    pthread_join(w.thread, nullptr);
    w.operations = operations / kThreads;
  }
  bench_begin();
  for (Worker& w : g_workers) {
    pthread_create(&w.thread, nullptr, work, &w);
  }
  for (Worker& w : g_workers) {
    pthread_join(w.thread, nullptr);
  }
  const Estimates full = estimates();
  double live_bytes = 0;
  double live_blocks = 0;
  double allocated_bytes = 0;
  double allocated_blocks = 0;
  for (Worker& w : g_workers) {
    allocated_bytes += w.allocated_bytes;
    allocated_blocks += w.allocated_blocks;
    for (uint64_t i = 0; i < kLiveBlocks; ++i) {
      if (w.blocks[i] != nullptr) {
        live_bytes += w.sizes[i];
        live_blocks += 1;
        free(w.blocks[i]);
      }
    }
  }
  const Estimates empty = estimates();
  printf(
      "{\"live_bytes\": %.6f, \"live_blocks\": %.6f, \"allocated_bytes\": %.6f, \"allocated_blocks\": %.6f, "
      "\"samples\": %llu, \"live_after\": %.17g, \"live_blocks_after\": %.17g, \"live_samples_after\": "
      "%llu}\n",
      full.live_bytes / live_bytes, full.live_blocks / live_blocks, full.allocated_bytes / allocated_bytes,
      full.allocated_blocks / allocated_blocks, (unsigned long long)bench_stats().samples, empty.live_bytes,
      empty.live_blocks, (unsigned long long)empty.live_samples);
  return 0;
}
