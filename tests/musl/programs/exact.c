// SPDX-License-Identifier: Apache-2.0
// exact THREADS ROUNDS: each thread allocates ROUNDS times by each function of the family, each from a function of its own.
// What `keep_` functions allocate stays. musl_test.py has the numbers.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline))

static long rounds;

SITE static void* use(void* block) {
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

SITE void* keep_malloc(void) {
  return use(malloc(101));
}
SITE void* keep_aligned(void) {
  return use(aligned_alloc(64, 256));
}
SITE void* keep_strdup(void) {
  return use(strdup("twelve chars"));
}
SITE void* site_small(void) {
  return use(malloc(11));
}
SITE void* site_realloc(void* block) {
  return use(realloc(block, 503));
}
SITE void* site_reallocarray(void* block) {
  return use(reallocarray(block, 7, 101));
}
SITE void* site_calloc(void) {
  return use(calloc(3, 53));
}
SITE void* site_posix_memalign(void) {
  void* block = NULL;
  return posix_memalign(&block, 128, 131) == 0 ? use(block) : NULL;
}
SITE void* site_memalign(void) {
  return use(memalign(32, 137));
}
SITE void* site_valloc(void) {
  return use(valloc(139));
}

SITE void* one_thread(void* argument) {
  for (long i = 0; i < rounds; ++i) {
    keep_malloc();
    keep_aligned();
    keep_strdup();
    free(site_reallocarray(site_realloc(site_small())));
    free(site_calloc());
    free(site_posix_memalign());
    free(site_memalign());
    if (i % 64 == 0) {
      free(site_valloc());
    }
  }
  return use(argument);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  rounds = argc > 2 ? atol(argv[2]) : 1;
  pthread_t ids[64];
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&ids[i], NULL, one_thread, NULL) != 0) {
      return 1;
    }
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
  }
  return 0;
}
