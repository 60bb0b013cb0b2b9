// SPDX-License-Identifier: Apache-2.0
// A program that checks itself and lives within what it is allowed, whatever that is: what it is refused it does without.
// What it prints does not depend on how much it was given.
//   bounded [SECONDS]   goes on for so long, after it has said "ready"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kBlocks = 200, kThreads = 4 };
static unsigned long g_wrong;

static void churn(unsigned seed) {
  unsigned char* blocks[kBlocks] = {NULL};
  size_t sizes[kBlocks] = {0};
  for (unsigned i = 0; i < 4000; ++i) {
    seed = seed * 1103515245 + 12345;
    const unsigned at = seed >> 8 & 0xffff;
    unsigned char** const block = &blocks[at % kBlocks];
    if (*block != NULL) {
      const unsigned char mark = (unsigned char)(sizes[at % kBlocks]);
      if ((*block)[0] != mark || (*block)[sizes[at % kBlocks] - 1] != mark)
        __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
    }
    const size_t size = 1 + at % 3000;
    errno = 0;
    unsigned char* const grown = realloc(*block, size);
    if (grown == NULL) {  // what there was is as it was
      if (errno != ENOMEM) __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
      continue;
    }
    memset(grown, (int)(size & 0xff), size);
    *block = grown;
    sizes[at % kBlocks] = size;
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

static void* thread(void* seed) {
  churn((unsigned)(size_t)seed);
  return NULL;
}

int main(int argc, char** argv) {
  static char buffer[256];
  setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
  puts("ready");
  fflush(stdout);
  const double seconds = argc > 1 ? atof(argv[1]) : 0;
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    pthread_t threads[kThreads];
    int made[kThreads];
    for (size_t i = 0; i < kThreads; ++i)
      made[i] = pthread_create(&threads[i], NULL, thread, (void*)(i + 7)) == 0;
    churn(1);
    for (int i = 0; i < kThreads; ++i) {
      if (made[i]) pthread_join(threads[i], NULL);
    }
    FILE* const file = fopen("/proc/self/stat", "r");
    if (file != NULL) fclose(file);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
  puts(g_wrong == 0 ? "right" : "wrong");
  return g_wrong == 0 ? 7 : 8;
}
