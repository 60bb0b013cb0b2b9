// SPDX-License-Identifier: Apache-2.0
// Threads with a stack of 64 KB (and of the least that the system gives) that allocate at its top and deep in
// it.
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "truth.h"

enum { kThreads = 20, kBlocks = 50, kMinBlocks = 10 };

SITE void* small_leaf(void) {
  return keep(malloc(opaque(501)));
}
SITE void* min_leaf(void) {
  return keep(malloc(opaque(502)));
}

// 40 frames of 1,000 bytes: two thirds of the stack.
SITE void small_deep(int depth) {
  volatile char frame[1000];
  frame[0] = (char)depth;
  if (depth > 0) {
    small_deep(depth - 1);
  } else {
    free(small_leaf());
  }
  frame[1] = frame[0];
}

SITE void* small_run(void* unused) {
  for (int i = 0; i < kBlocks; ++i) small_deep(40);
  return unused;
}
SITE void* min_run(void* unused) {
  for (int i = 0; i < kMinBlocks; ++i) free(min_leaf());
  return unused;
}

static void run(size_t stack_bytes, void* (*function)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, stack_bytes) != 0) die("stack size");
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, function, NULL) != 0) die("pthread_create");
    pthread_join(thread, NULL);
  }
  pthread_attr_destroy(&attributes);
}

int main(void) {
  run(64 * 1024, small_run);
  run((size_t)sysconf(_SC_THREAD_STACK_MIN) + 8 * 1024, min_run);
  tell("small_leaf", "small_deep<small_deep", kThreads * kBlocks, kThreads * kBlocks * 501, 0, 0);
  tell("min_leaf", "min_run", kThreads * kMinBlocks, kThreads * kMinBlocks * 502, 0, 0);
  return 0;
}
