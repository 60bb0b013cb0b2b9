// SPDX-License-Identifier: Apache-2.0
// usage: race ROUNDS    blocks of one size from 8 threads, kept by some and moved by realloc by all: what one's realloc frees is at
// once another one's block
#include <pthread.h>
#include <stdlib.h>

#include "truth.h"

enum { kThreads = 8 };
static unsigned long g_rounds;

SITE void* keep_block(void) {
  void* p = malloc(40);
  STAY;
  return p;
}
SITE void* site_first(void) {
  void* p = malloc(40);
  STAY;
  return p;
}
SITE void* site_moved(void* p) {
  p = realloc(p, 700);
  STAY;
  return p;
}

static void* work(void* unused) {
  for (unsigned long i = 0; i < g_rounds; ++i) {
    keep_block();
    free(site_moved(site_first()));
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (const char* at = argv[1]; *at != '\0'; ++at) g_rounds = g_rounds * 10 + (unsigned long)(*at - '0');
  pthread_t ids[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&ids[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(ids[i], NULL);
  const unsigned long n = kThreads * g_rounds;
  say_truth("keep_block", n, n * 40, n, n * 40);
  say_truth("site_first", 0, 0, n, n * 40);
  say_truth("site_moved", 0, 0, n, n * 700);
  return 0;
}
