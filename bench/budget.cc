// SPDX-License-Identifier: Apache-2.0
// What sampling takes of a program's CPU time under a budget: six programs, from one that sleeps to one that does
// nothing but allocate.  Prints a line: the program, allocations a second, CPU seconds, nanoseconds of CPU time an
// allocation, samples, the rate in the end, and the share that the library says it took.
//
// usage: budget PROGRAM [SECONDS [WORK]]     PROGRAM: idle | light | server | bursts | threads | tight
#include <pthread.h>

#include <atomic>

#include "program.h"

namespace {

constexpr uint64_t kNsPerSecond = 1000000000;
constexpr int kBlocks = 4096;  // live in each thread

uint64_t now_ns() {
  return bench_clock_ns(CLOCK_MONOTONIC);
}

void sleep_ns(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
  nanosleep(&t, nullptr);
}

struct Worker {
  uint64_t random = 88172645463325252ull;
  uint64_t allocations = 0;
  void* blocks[kBlocks] = {};

  uint64_t next() {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  }
  void work(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
      bench_escape(&random);
      next();
    }
  }
};

// Stacks of three to ten levels.
__attribute__((noinline)) void* allocate_at(Worker& w, size_t size, uint64_t path, int depth) {
  void* const block = depth == 0        ? malloc(size)
                      : (path & 1) != 0 ? allocate_at(w, size, path >> 1, depth - 1)
                                        : allocate_at(w, size, path >> 2, depth - 1);
  bench_escape(block);
  return block;
}

// Replaces one of the live blocks by one of 16 to 2,047 bytes.
void replace(Worker& w) {
  const uint64_t r = w.next();
  void*& place = w.blocks[r % kBlocks];
  free(place);
  place = allocate_at(w, 16 + ((r >> 12) & 2047) * ((r >> 24) & 1) / 2 + ((r >> 32) & 63), r >> 40,
                      3 + static_cast<int>(r >> 61));
  ++w.allocations;
}

// 32 bytes, freed at once.
void tight(Worker& w, uint64_t pairs) {
  for (uint64_t i = 0; i < pairs; ++i) {
    void* const block = malloc(32);
    bench_escape(block);
    free(block);
  }
  w.allocations += pairs;
}

using Slice = void (*)(Worker&, uint64_t work);

void idle(Worker& w, uint64_t) {
  for (int i = 0; i < 20; ++i) {
    replace(w);
  }
  sleep_ns(100000000);
}
void light(Worker& w, uint64_t) {  // a tenth of a processor
  for (int i = 0; i < 200; ++i) {
    w.work(1000);
    replace(w);
  }
  sleep_ns(5000000);
}
void server(Worker& w, uint64_t work) {
  for (int i = 0; i < 1000; ++i) {
    w.work(work);
    replace(w);
  }
}
void bursts(Worker& w, uint64_t) {
  sleep_ns(400000000);
  for (const uint64_t end = now_ns() + 200000000; now_ns() < end;) {
    tight(w, 10000);
  }
}
void only_tight(Worker& w, uint64_t) {
  tight(w, 100000);
}

constexpr struct {
  const char* name;
  Slice slice;
  unsigned threads;
} kPrograms[] = {{"idle", idle, 1},     {"light", light, 1},    {"server", server, 1},
                 {"bursts", bursts, 1}, {"threads", server, 4}, {"tight", only_tight, 1}};

struct Run {
  Slice slice = nullptr;
  uint64_t work = 0;
  uint64_t end_ns = 0;
  std::atomic<uint64_t> allocations{0};
};

void* run(void* argument) {
  Run& r = *static_cast<Run*>(argument);
  Worker w;
  w.random ^= reinterpret_cast<uintptr_t>(&w) * 0x9e3779b97f4a7c15ull;
  while (now_ns() < r.end_ns) {
    r.slice(w, r.work);
  }
  for (void* block : w.blocks) {
    free(block);
  }
  r.allocations += w.allocations;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& program : kPrograms) {
    if (argc < 2 || strcmp(argv[1], program.name) != 0) {
      continue;
    }
    bench_begin();
    const uint64_t seconds = bench_argument(argc, argv, 2, 20);
    Run r;
    r.slice = program.slice;
    r.work = bench_argument(argc, argv, 3, 200);
    const uint64_t begun_ns = now_ns();
    const uint64_t cpu_before = bench_cpu_ns();
    r.end_ns = begun_ns + seconds * kNsPerSecond;
    pthread_t threads[16];
    for (unsigned i = 1; i < program.threads; ++i) {
      pthread_create(&threads[i], nullptr, run, &r);
    }
    run(&r);
    for (unsigned i = 1; i < program.threads; ++i) {
      pthread_join(threads[i], nullptr);
    }
    const double cpu_ns = static_cast<double>(bench_cpu_ns() - cpu_before);
    const memprof_stats stats = bench_stats();
    const double allocations = static_cast<double>(r.allocations);
    printf("%s: %.3g allocations/s, %.2f s of CPU, %.3f ns each, %llu samples, rate %llu, sampling %.3f %%\n",
           program.name, allocations / (static_cast<double>(now_ns() - begun_ns) / 1e9), cpu_ns / 1e9,
           cpu_ns / allocations, static_cast<unsigned long long>(stats.samples),
           static_cast<unsigned long long>(stats.rate_bytes),
           100 * static_cast<double>(stats.sampling_ns) / cpu_ns);
    return 0;
  }
  bench_fail("usage: budget idle|light|server|bursts|threads|tight [SECONDS [WORK]]");
}
