// SPDX-License-Identifier: Apache-2.0
// A library whose constructor starts a thread that allocates, and waits for it, while the loader's lock is
// held. Linked to a program, and loaded by dlopen.
#include <pthread.h>

#include "truth.h"

static void* g_block;

SITE void* in_constructor_thread(void) {
  return keep(malloc(opaque(3001)));
}

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) free(in_constructor_thread());
  g_block = in_constructor_thread();
  return NULL;
}

__attribute__((constructor)) static void construct(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) die("pthread_create");
  pthread_join(thread, NULL);
}

__attribute__((visibility("default"))) void* constructor_thread_block(void) {
  return g_block;
}
