// SPDX-License-Identifier: Apache-2.0
// A service that runs for long: threads that replace blocks of a fixed number, from many different stacks, and sleep.
// Of every hundred blocks one is kept for a thousand times as long as the others.
//
// usage: soak THREADS      until it is killed
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 2048, LEVELS = 20, EACH = 1000 };

struct worker {
  uint64_t random;
  void* blocks[BLOCKS];
  void* kept[BLOCKS];
};

static uint64_t next(struct worker* w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  return w->random ^= w->random << 17;
}

static void* left(size_t size, uint64_t path, int levels);
__attribute__((noinline)) static void* right(size_t size, uint64_t path, int levels) {
  void* block = levels == 0     ? malloc(size)
                : path % 2 != 0 ? left(size, path / 2, levels - 1)
                                : right(size, path / 2, levels - 1);
  __asm__ volatile("" : "+r"(block));
  return block;
}
__attribute__((noinline)) static void* left(size_t size, uint64_t path, int levels) {
  void* block = levels == 0     ? malloc(size)
                : path % 2 != 0 ? left(size, path / 2, levels - 1)
                                : right(size, path / 2, levels - 1);
  __asm__ volatile("" : "+r"(block));
  return block;
}

static void* work(void* argument) {
  struct worker* w = argument;
  const struct timespec pause = {0, 40000000};
  for (;;) {
    for (int i = 0; i < EACH; ++i) {
      const uint64_t r = next(w);
      void** place =
          r % 100 == 0 && (r >> 8) % 10 == 0 ? &w->kept[(r >> 12) % BLOCKS] : &w->blocks[(r >> 12) % BLOCKS];
      free(*place);
      *place = right(16 + ((r >> 24) & 511), next(w), LEVELS);
    }
    nanosleep(&pause, NULL);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < threads; ++i) {
    struct worker* w = calloc(1, sizeof(*w));
    w->random = 88172645463325252ull + (uint64_t)i * 0x9e3779b97f4a7c15ull;
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, w) != 0) return 1;
  }
  puts("runs");
  fflush(stdout);
  for (;;) {
    const struct timespec pause = {3600, 0};
    nanosleep(&pause, NULL);
  }
}
