// SPDX-License-Identifier: Apache-2.0
// Threads with the smallest stacks that there are, 2 KiB of which are the program's when it allocates.
#include <limits.h>
#include <pthread.h>

#include "truth.h"

enum { kThreads = 4, kBlocks = 50, kBytes = 700, kUsed = 2048 };

SITE void small_leaf(void) {
  for (int i = 0; i < kBlocks; ++i) free(keep(malloc(opaque(kBytes))));
}

static void* work(void* nothing) {
  volatile char used[kUsed];
  for (int i = 0; i < kUsed; ++i) used[i] = (char)i;
  small_leaf();
  return used[1] == 1 ? nothing : NULL;
}

int main(void) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0) {
    die("a small stack");
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, work, NULL) != 0) die("a thread");
    pthread_join(thread, NULL);
  }
  tell("small_leaf", "work", kThreads * kBlocks, (uint64_t)kThreads * kBlocks * kBytes, 0, 0);
  return 0;
}
