// SPDX-License-Identifier: Apache-2.0
// What the benchmark programs share: clocks, the profiler if one of ours is loaded, a line of results.
//
// A program is the same whatever is preloaded.  BENCH_PROFILER says what it does with memprof, if that is
// loaded: "on" (start before the work, at BENCH_RATE bytes, within BENCH_BUDGET_PPM), "stopped" (start, then stop, then work); absent:
// nothing.  The library is found by name, so that a program without it takes the same path.
//
// Threads: one.  Allocates: what dlsym does, before the work.
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memprof.h"

static inline uint64_t bench_clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t bench_cpu_ns(void) {  // of the process, all threads
  return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline void* bench_function(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

// Keeps the compiler from knowing what happens to *p.
static inline void bench_escape(void* p) {
  __asm__ volatile("" : : "r"(p) : "memory");
}

// The number in argv[index], or `otherwise`.
static inline uint64_t bench_argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? strtoull(argv[index], NULL, 10) : otherwise;
}

static inline void bench_fail(const char* what) {
  fprintf(stderr, "bench: %s\n", what);
  exit(1);
}

// Does with the profiler what BENCH_PROFILER says.
static inline void bench_begin(void) {
  const char* wanted = getenv("BENCH_PROFILER");
  if (wanted == NULL || *wanted == '\0') {
    return;
  }
  int (*fill)(memprof_options*, uint32_t);
  int (*init)(const memprof_options*);
  int (*start)(void);
  int (*stop)(void);
  *(void**)&fill = bench_function("memprof_options_init");
  *(void**)&init = bench_function("memprof_init");
  *(void**)&start = bench_function("memprof_start");
  *(void**)&stop = bench_function("memprof_stop");
  if (fill == NULL || init == NULL || start == NULL || stop == NULL) {
    bench_fail("BENCH_PROFILER is set, but memprof is not loaded");
  }
  memprof_options options;
  fill(&options, sizeof(options));
  const char* rate = getenv("BENCH_RATE");
  if (rate != NULL) {
    options.rate_bytes = strtoull(rate, NULL, 10);
  }
  const char* budget = getenv("BENCH_BUDGET_PPM");
  if (budget != NULL) {
    options.budget_ppm = (uint32_t)strtoul(budget, NULL, 10);
  }
  if (init(&options) != MEMPROF_OK || start() != MEMPROF_OK) {
    bench_fail("memprof does not start");
  }
  if (strcmp(wanted, "stopped") == 0 && stop() != MEMPROF_OK) {
    bench_fail("memprof does not stop");
  }
}

// Counters of the profiler; zeros without it.
static inline memprof_stats bench_stats(void) {
  memprof_stats stats;
  memset(&stats, 0, sizeof(stats));
  stats.struct_size = sizeof(stats);
  int (*get_stats)(memprof_stats*);
  *(void**)&get_stats = bench_function("memprof_get_stats");
  if (get_stats != NULL) {
    get_stats(&stats);
  }
  return stats;
}

// A line of a /proc file that begins with `name`, its number (kB); 0 if there is none.
static inline uint64_t bench_proc_kib(const char* path, const char* name) {
  char line[256];
  unsigned long long value = 0;
  FILE* file = fopen(path, "re");
  if (file == NULL) {
    return 0;
  }
  while (fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) {
      value = strtoull(line + strlen(name), NULL, 10);
      break;
    }
  }
  fclose(file);
  return value;
}

// Slices of work, done in turn with another process that does the same (BENCH_TURNS=IN,OUT, two file
// descriptors: a byte that comes in is the permission, a byte that goes out passes it on).  A slice takes
// milliseconds, so whatever else the machine does meets both processes.
enum { kBenchMaxSlices = 1024 };
struct bench_turns {
  int in, out;
  uint64_t begin_ns;
  uint64_t count;
  uint64_t cpu_ns[kBenchMaxSlices];
};

static inline struct bench_turns* bench_turns_begin(void) {
  static struct bench_turns turns;
  turns.in = -1;
  turns.out = -1;
  const char* descriptors = getenv("BENCH_TURNS");
  if (descriptors != NULL && sscanf(descriptors, "%d,%d", &turns.in, &turns.out) != 2) {
    bench_fail("BENCH_TURNS must be two file descriptors");
  }
  signal(SIGPIPE, SIG_IGN);  // the other process may have ended before our last word to it
  return &turns;
}

static inline void bench_slice_begin(struct bench_turns* turns) {
  char token;
  if (turns->in >= 0 && read(turns->in, &token, 1) != 1) {
    bench_fail("the other process is gone");
  }
  turns->begin_ns = bench_cpu_ns();
}

static inline void bench_slice_end(struct bench_turns* turns) {
  const uint64_t end_ns = bench_cpu_ns();
  if (turns->count < kBenchMaxSlices) {
    turns->cpu_ns[turns->count++] = end_ns - turns->begin_ns;
  }
  if (turns->out >= 0) {
    const ssize_t ignored = write(turns->out, "", 1);
    (void)ignored;
  }
}

// The line that bench/run reads.
static inline void bench_report(uint64_t operations, uint64_t bytes, const struct bench_turns* turns) {
  const memprof_stats stats = bench_stats();
  printf(
      "{\"operations\": %llu, \"bytes\": %llu, \"samples\": %llu, \"live_samples\": %llu, "
      "\"dropped_samples\": %llu, \"stacks\": %llu, \"frames\": %llu, \"rss_kib\": %llu, \"slices_ns\": [",
      (unsigned long long)operations, (unsigned long long)bytes, (unsigned long long)stats.samples,
      (unsigned long long)stats.live_samples, (unsigned long long)stats.dropped_samples,
      (unsigned long long)stats.stacks, (unsigned long long)stats.frames,
      (unsigned long long)bench_proc_kib("/proc/self/smaps_rollup", "Rss:"));
  for (uint64_t i = 0; i < turns->count; ++i) {
    printf("%s%llu", i > 0 ? ", " : "", (unsigned long long)turns->cpu_ns[i]);
  }
  printf("]}\n");
}
