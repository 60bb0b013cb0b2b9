/* SPDX-License-Identifier: Apache-2.0
 * Runs until it is told to end, by a line on standard input, and is attached to meanwhile: threads allocate and free, each in
 * its own way; main sleeps, allocates and is told.  At the line "keep" main keeps blocks.  Prints whether all sums are right. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 64, KEPT = 500 };

static atomic_int ends;
static atomic_ulong wrong;

__attribute__((noinline)) static void* busy_block(size_t size) {
  char* block = malloc(size);
  memset(block, (int)size & 0x7f, size);
  return block;
}

static void* busy(void* seed) {
  unsigned long random = (unsigned long)seed;
  char* blocks[BLOCKS] = {0};
  size_t sizes[BLOCKS] = {0};
  unsigned long rounds = 0;
  while (!ends) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int i = (int)(random >> 40) % BLOCKS;
    if (blocks[i] != NULL &&
        (blocks[i][0] != (char)(sizes[i] & 0x7f) || blocks[i][sizes[i] - 1] != blocks[i][0])) {
      ++wrong;
    }
    free(blocks[i]);
    sizes[i] = 1 + (random >> 20) % 3000;
    blocks[i] = busy_block(sizes[i]);
    ++rounds;
  }
  for (int i = 0; i < BLOCKS; ++i) {
    free(blocks[i]);
  }
  return (void*)rounds;
}

static char* kept[64 * KEPT];
static int kept_count;

__attribute__((noinline)) void keep_attached(void) {
  for (int i = 0; i < KEPT; ++i) {
    kept[kept_count++] = malloc(211);
  }
}

// The C library's own functions call malloc, too: strdup, and musl's calloc and memalign.
static void* kept_by_library[3 * 64];
static int kept_by_library_count;

__attribute__((noinline)) void keep_by_library(void) {
  kept_by_library[kept_by_library_count++] = strdup("twelve bytes");
  kept_by_library[kept_by_library_count++] = calloc(3, 101);
  kept_by_library[kept_by_library_count++] = aligned_alloc(64, 640);
}

__attribute__((noinline)) int wait_for_line(char* line, int size) {
  struct pollfd input = {0, POLLIN, 0};
  while (poll(&input, 1, 20) == 0) {
    free(strdup("main works, too"));
  }
  return fgets(line, size, stdin) != NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) {
    pthread_create(&threads[i], NULL, busy, (void*)(i + 1));
  }
  char line[64];
  puts("ready");
  fflush(stdout);
  while (wait_for_line(line, sizeof(line)) && strcmp(line, "end\n") != 0) {
    keep_attached();
    keep_by_library();
    puts("kept");
    fflush(stdout);
  }
  ends = 1;
  unsigned long rounds = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* own;
    pthread_join(threads[i], &own);
    rounds += (unsigned long)own;
  }
  printf("%s, %d kept, %lu wrong\n", rounds > 1000 ? "worked" : "idle", kept_count, wrong);
  return 5;
}
