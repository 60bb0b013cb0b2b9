// SPDX-License-Identifier: Apache-2.0
// Eight threads allocate all the time while the main thread loads and unloads a library repeatedly.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "truth.h"

enum { kThreads = 8, kLoads = 300 };

static atomic_bool g_stop;
static atomic_ulong g_blocks;

SITE void* in_thread(void) {
  return keep(malloc(opaque(72)));
}

static void* run(void* unused) {
  (void)unused;
  unsigned long count = 0;
  while (!atomic_load_explicit(&g_stop, memory_order_relaxed)) {
    free(in_thread());
    ++count;
  }
  atomic_fetch_add(&g_blocks, count);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) die("which library?");
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < kLoads; ++i) {
    void* library = dlopen(argv[1], i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
    if (library == NULL) die(dlerror());
    void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_allocate");
    free(allocate(opaque(100)));
    dlclose(library);
  }
  atomic_store(&g_stop, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  tell("in_thread", "run", g_blocks, g_blocks * 72, 0, 0);
  return 0;
}
