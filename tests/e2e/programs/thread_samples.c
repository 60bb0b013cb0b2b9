// SPDX-License-Identifier: Apache-2.0
// 10,000 threads of one allocation each, about as large as the sampling rate; and a clock that runs while the
// profiler is off. Prints the estimates that the C API gives, and the truth.
#include <pthread.h>

#include "memprof.h"
#include "truth.h"

enum { kThreads = 10000, kAtOnce = 25, kBlock = 65536, kRate = 65536 };

SITE void* in_thread(void) {
  return keep(malloc(opaque(kBlock)));
}

static void* run(void* unused) {
  (void)unused;
  return in_thread();
}

// The sum over the stacks, of samples whose size is `size`: exact sizes make them ours.
static double allocated(void) {
  memprof_snapshot* snapshot;
  if (memprof_get_snapshot(&snapshot) != MEMPROF_OK) die("memprof_get_snapshot");
  uint64_t count;
  const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, &count);
  double bytes = 0;
  for (uint64_t i = 0; i < count; ++i) bytes += stacks[i].allocated.weight_bytes;
  memprof_free_snapshot(snapshot);
  return bytes;
}

int main(void) {
  memprof_options options;
  memprof_options_init(&options, sizeof(options));
  options.rate_bytes = kRate;
  if (memprof_init(&options) != MEMPROF_OK || memprof_start() != MEMPROF_OK) die("memprof_start");

  // Lesson 20: the first draw of a thread is as good as any.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  double before = allocated();
  for (int i = 0; i < kThreads; i += kAtOnce) {
    pthread_t threads[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      if (pthread_create(&threads[j], &attributes, run, NULL) != 0) die("pthread_create");
    }
    for (int j = 0; j < kAtOnce; ++j) {
      void* block;
      pthread_join(threads[j], &block);
      free(block);
    }
  }
  printf("threads %d %d %.0f\n", kThreads, kBlock, allocated() - before);

  // Lesson 21: on and off, and another rate, at any moment; what counts is what was allocated while on.
  before = allocated();
  const int rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    if (memprof_stop() != MEMPROF_OK) die("memprof_stop");
    for (int j = 0; j < 10; ++j) free(in_thread());
    memprof_set_rate(i % 3 == 0 ? kRate : i % 3 == 1 ? 4 * kRate : kRate / 4);
    if (memprof_start() != MEMPROF_OK) die("memprof_start");
    for (int j = 0; j < 5; ++j) free(in_thread());
  }
  printf("switches %d %d %.0f\n", 5 * rounds, kBlock, allocated() - before);
  return 0;
}
