// SPDX-License-Identifier: Apache-2.0
// Creates and ends 10,000 threads (or as many as the argument says) that allocate once or twice each, 20 at a
// time; prints what memory that took.
#include <pthread.h>
#include <unistd.h>

#include "truth.h"

enum { kThreads = 10000, kAtOnce = 20 };

SITE void* in_thread(void) {
  return keep(malloc(opaque(500)));
}

static void* run(void* unused) {
  (void)unused;
  free(in_thread());
  return in_thread();
}

static long resident_kb(void) {
  char text[128] = "";
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fgets(text, sizeof(text), file) == NULL) die("statm");
  fclose(file);
  long pages = 0;
  if (sscanf(text, "%*d %ld", &pages) != 1) die("statm");
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : kThreads;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  long early_kb = 0;
  for (int i = 0; i < count; i += kAtOnce) {
    pthread_t threads[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      if (pthread_create(&threads[j], &attributes, run, NULL) != 0) die("pthread_create");
    }
    for (int j = 0; j < kAtOnce; ++j) {
      void* block;
      pthread_join(threads[j], &block);
      free(block);
    }
    if (i == kThreads / 10) early_kb = resident_kb();
  }
  printf("grown_kb %ld\n", resident_kb() - early_kb);
  tell("in_thread", "run", 2 * (uint64_t)count, 2 * (uint64_t)count * 500, 0, 0);
  return 0;
}
