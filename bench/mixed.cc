// SPDX-License-Identifier: Apache-2.0
// Mixed sizes under live load: each operation frees a random one of the live blocks and allocates another, of
// 16 to 4096 bytes (log-uniform), from one of 1024 stacks of about a dozen frames.
//
// Built twice, with and without frame pointers.  The path through the program changes every 64 operations,
// not at each: mispredicted branches would make the program slow and the profiler look cheap.
//
// usage: mixed [SLICES [OPERATIONS_A_SLICE [THREADS [LIVE_BLOCKS]]]]
#include <pthread.h>

#include "program.h"

namespace {

constexpr uint64_t kMaxThreads = 64;
constexpr int kSizes = 1024;
constexpr int kLevels = 5;  // of 4 ways each
uint32_t g_sizes[kSizes];

void fill_sizes() {
  double size = 16;
  for (uint32_t& s : g_sizes) {
    s = static_cast<uint32_t>(size);
    size *= 1.0054300;  // 256^(1/1024)
  }
}

struct Worker {
  pthread_t thread;
  uint64_t operations;  // a slice
  uint64_t step;
  uint64_t live_blocks;
  uint64_t random;
  void** blocks;
  uint64_t bytes;
  uint64_t returns;  // keeps calls from becoming jumps
};

uint64_t next_random(Worker& w) {  // xorshift64*
  w.random ^= w.random >> 12;
  w.random ^= w.random << 25;
  w.random ^= w.random >> 27;
  return w.random * 0x2545f4914f6cdd1dull;
}

template <int kLevel, int kWay>
struct Step {
  __attribute__((noinline)) static void* run(Worker& w, size_t size, uint32_t path) {
    void* block = nullptr;
    switch (path & 3) {
      case 0:
        block = Step<kLevel - 1, 0>::run(w, size, path >> 2);
        break;
      case 1:
        block = Step<kLevel - 1, 1>::run(w, size, path >> 2);
        break;
      case 2:
        block = Step<kLevel - 1, 2>::run(w, size, path >> 2);
        break;
      default:
        block = Step<kLevel - 1, 3>::run(w, size, path >> 2);
    }
    w.returns += 4 * kLevel + kWay;  // each function is different, so the compiler merges none
    return block;
  }
};

template <int kWay>
struct Step<0, kWay> {
  __attribute__((noinline)) static void* run(Worker& w, size_t size, uint32_t) {
    void* block = malloc(size);
    w.bytes += size;
    w.returns += kWay;
    return block;
  }
};

__attribute__((noinline)) void replace(Worker& w, uint32_t path) {
  const uint64_t r = next_random(w);
  const size_t size = g_sizes[r % kSizes];
  void*& slot = w.blocks[(r >> 32) * w.live_blocks >> 32];
  free(slot);
  slot = Step<kLevels, 0>::run(w, size, path);
  // The program writes what it allocates, a little.
  static_cast<char*>(slot)[0] = 1;
  static_cast<char*>(slot)[size - 1] = 1;
  ++w.returns;
}

// All threads and main wait for each other before and after a slice.
pthread_barrier_t g_barrier;
uint64_t g_slices;

void fill(Worker& w) {
  for (uint64_t i = 0; i < w.live_blocks; ++i) {
    w.blocks[i] = malloc(g_sizes[next_random(w) % kSizes]);
  }
}

void work(Worker& w) {
  for (uint64_t i = 0; i < w.operations; ++i, ++w.step) {
    replace(w, static_cast<uint32_t>((w.step >> 6) * 0x9e3779b1u >> 16));
  }
}

void* run_thread(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  fill(w);
  pthread_barrier_wait(&g_barrier);
  for (uint64_t i = 0; i < g_slices; ++i) {
    pthread_barrier_wait(&g_barrier);
    work(w);
    pthread_barrier_wait(&g_barrier);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  g_slices = bench_argument(argc, argv, 1, 40);
  const uint64_t operations = bench_argument(argc, argv, 2, 50000);
  uint64_t threads = bench_argument(argc, argv, 3, 1);
  const uint64_t live_blocks = bench_argument(argc, argv, 4, 100000);
  threads = threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads;
  static Worker workers[kMaxThreads];
  fill_sizes();
  bench_begin();

  for (uint64_t t = 0; t < threads; ++t) {
    Worker& w = workers[t];
    w.operations = operations / threads;
    w.live_blocks = live_blocks / threads;
    w.random = 0x9e3779b97f4a7c15ull * (t + 1);
    w.blocks = static_cast<void**>(calloc(w.live_blocks, sizeof(void*)));
  }
  struct bench_turns* turns = bench_turns_begin();
  if (threads == 1) {
    fill(workers[0]);
    for (uint64_t i = 0; i < g_slices; ++i) {
      bench_slice_begin(turns);
      work(workers[0]);
      bench_slice_end(turns);
    }
  } else {
    pthread_barrier_init(&g_barrier, nullptr, static_cast<unsigned>(threads) + 1);
    for (uint64_t t = 0; t < threads; ++t) {
      if (pthread_create(&workers[t].thread, nullptr, run_thread, &workers[t]) != 0) {
        bench_fail("no thread");
      }
    }
    pthread_barrier_wait(&g_barrier);
    for (uint64_t i = 0; i < g_slices; ++i) {
      bench_slice_begin(turns);
      pthread_barrier_wait(&g_barrier);
      pthread_barrier_wait(&g_barrier);
      bench_slice_end(turns);
    }
    for (uint64_t t = 0; t < threads; ++t) {
      pthread_join(workers[t].thread, nullptr);
    }
  }

  uint64_t bytes = 0;
  for (uint64_t t = 0; t < threads; ++t) {
    bytes += workers[t].bytes;
  }
  bench_report(g_slices * (operations / threads) * threads, bytes, turns);
  return 0;
}
