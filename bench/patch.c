// SPDX-License-Identifier: Apache-2.0
// memprof_start() in a large process: patch LIBMEMPROF GIGABYTES THREADS LIBRARY...  Makes that much live,
// loads the libraries, lets that many threads allocate, and prints what the first and the second start took,
// and the longest that a thread waited for a malloc and a free meanwhile and in as long a time before.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memprof.h"

enum { kMaxThreads = 64, kBlock = 16384 };

static atomic_int g_phase;  // 0: before, 1: what is measured, 2: the end
static atomic_ulong g_longest_ns[2];
static atomic_ulong g_operations[2];

static uint64_t read_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void) {
  return read_ns(CLOCK_MONOTONIC);
}

static void* run(void* unused) {
  (void)unused;
  for (int phase; (phase = atomic_load(&g_phase)) != 2;) {
    const uint64_t begin = now_ns();
    free(malloc(100));
    const uint64_t took = now_ns() - begin;
    atomic_fetch_add(&g_operations[phase], 1);
    unsigned long longest = atomic_load(&g_longest_ns[phase]);
    while (took > longest && !atomic_compare_exchange_weak(&g_longest_ns[phase], &longest, took)) {
    }
  }
  return NULL;
}

static int count(struct dl_phdr_info* info, size_t size, void* n) {
  (void)info;
  (void)size;
  ++*(int*)n;
  return 0;
}

int main(int argc, char** argv) {
  const int thread_count = argc < 4 ? -1 : atoi(argv[3]);
  if (thread_count < 0 || thread_count > kMaxThreads) return 2;
  void** blocks = NULL;
  for (long i = atol(argv[2]) * (1 << 30) / kBlock; i > 0; --i) {
    void** block = malloc(kBlock);
    memset(block, 1, kBlock);
    *block = blocks;
    blocks = block;
  }
  for (int i = 4; i < argc; ++i) {
    if (dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*init)(const memprof_options*) = (int (*)(const memprof_options*))dlsym(library, "memprof_init");
  int (*start)(void) = (int (*)(void))dlsym(library, "memprof_start");
  int (*stop)(void) = (int (*)(void))dlsym(library, "memprof_stop");
  int (*get_stats)(memprof_stats*) = (int (*)(memprof_stats*))dlsym(library, "memprof_get_stats");
  if (init(NULL) != MEMPROF_OK) return 1;
  pthread_t threads[kMaxThreads];
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run, NULL);
  const struct timespec warm = {0, 300000000};
  nanosleep(&warm, NULL);
  atomic_store(&g_longest_ns[0], 0);
  nanosleep(&warm, NULL);
  atomic_store(&g_phase, 1);
  const uint64_t cpu = read_ns(CLOCK_THREAD_CPUTIME_ID);
  uint64_t begin = now_ns();
  const int error = start();
  const uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const uint64_t first_ns = now_ns() - begin;
  const unsigned long operations = atomic_load(&g_operations[1]);
  const unsigned long longest = atomic_load(&g_longest_ns[1]);
  if (error != MEMPROF_OK || stop() != MEMPROF_OK) return 1;
  begin = now_ns();
  if (start() != MEMPROF_OK) return 1;
  const uint64_t second_ns = now_ns() - begin;
  atomic_store(&g_phase, 2);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  int modules = 0;
  dl_iterate_phdr(count, &modules);
  memprof_stats s = {.struct_size = sizeof(s)};
  get_stats(&s);
  printf(
      "{\"modules\":%d,\"slots\":%llu,\"refused\":%llu,\"unbound\":%llu,\"cpu_ms\":%.3f,\"first_ms\":%.3f,"
      "\"second_ms\":%.3f,"
      "\"operations\":%lu,\"longest_before_ms\":%.3f,\"longest_ms\":%.3f}\n",
      modules, (unsigned long long)s.import_patched, (unsigned long long)s.import_refused,
      (unsigned long long)s.import_unbound, (double)cpu_ns / 1e6, (double)first_ns / 1e6,
      (double)second_ns / 1e6, operations, (double)g_longest_ns[0] / 1e6, (double)longest / 1e6);
  return blocks == NULL && atol(argv[2]) > 0;
}
