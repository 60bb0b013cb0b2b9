// SPDX-License-Identifier: Apache-2.0
// Starts and stops 10,000 times, or as often as the argument says, with snapshots in between, while threads
// allocate and free; in the end all is freed, and nothing is live.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "memprof.h"
#include "truth.h"

enum { kThreads = 8, kBlocks = 64 };

static atomic_bool g_stop;

static void* run(void* unused) {
  (void)unused;
  void* blocks[kBlocks] = {NULL};
  unsigned i = 0;
  while (!atomic_load_explicit(&g_stop, memory_order_relaxed)) {
    free(blocks[i % kBlocks]);
    blocks[i % kBlocks] = keep(malloc(opaque(i % 1000)));
    if (i % 7 == 0) blocks[i % kBlocks] = realloc(blocks[i % kBlocks], opaque(1 + i % 5000));
    ++i;
  }
  for (i = 0; i < kBlocks; ++i) free(blocks[i]);
  return NULL;
}

static memprof_stats stats(void) {
  memprof_stats s = {.struct_size = sizeof(s)};
  if (memprof_get_stats(&s) != MEMPROF_OK) die("memprof_get_stats");
  return s;
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 10000;
  memprof_options options;
  memprof_options_init(&options, sizeof(options));
  options.rate_bytes = 0;
  if (memprof_init(&options) != MEMPROF_OK) die("memprof_init");
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < rounds; ++i) {
    if (memprof_start() != MEMPROF_OK) die("memprof_start");
    if (i % 100 == 0) {
      // Every now and then until samples were recorded, whatever the scheduler does.
      for (const uint64_t before = stats().samples; stats().samples < before + 20;) sched_yield();
      memprof_snapshot* snapshot;
      if (memprof_get_snapshot(&snapshot) != MEMPROF_OK) die("memprof_get_snapshot");
      uint64_t records, stacks;
      const memprof_record* record = memprof_snapshot_records(snapshot, &records);
      memprof_snapshot_stacks(snapshot, &stacks);
      for (uint64_t j = 0; j < records; ++j) {
        if (record[j].stack_id >= stacks || record[j].size_bytes > 5001) die("a torn record");
      }
      memprof_free_snapshot(snapshot);
    }
    if (i % 50 == 0) memprof_set_rate(i % 100 == 0 ? 0 : 100);
    if (memprof_stop() != MEMPROF_OK) die("memprof_stop");
  }
  atomic_store(&g_stop, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  const memprof_stats s = stats();
  printf("samples %llu live %llu dropped %llu replaced %llu\n", (unsigned long long)s.samples,
         (unsigned long long)s.live_samples, (unsigned long long)s.dropped_samples,
         (unsigned long long)s.replaced_samples);
  return 0;
}
