// SPDX-License-Identifier: Apache-2.0
// Loads two libraries in turn, at one address, and unloads them, while eight threads allocate: through the
// library that is loaded, and without it while one is being unloaded.
//
// usage: churn ROUNDS LIBRARY LIBRARY      fails if the libraries do not come to one address
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*function)(void (*)(int), int);

static pthread_rwlock_t g_lock = PTHREAD_RWLOCK_INITIALIZER;
static function g_function;
static atomic_int g_done;

__attribute__((noinline)) static void allocate(int n) {
  for (int i = 0; i < n; ++i) {
    void* volatile p = malloc(100);
    free(p);
  }
}

static void* work(void* unused) {
  while (!g_done) {
    pthread_rwlock_rdlock(&g_lock);
    if (g_function != NULL) {
      g_function(allocate, 3);
    }
    pthread_rwlock_unlock(&g_lock);
    allocate(1);
    usleep(20);
  }
  return unused;
}

int main(int argc, char** argv) {
  const int rounds = argc > 3 ? atoi(argv[1]) : 0;
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    pthread_create(&threads[i], NULL, work, NULL);
  }
  uintptr_t addresses[2] = {0, 0};
  int same = 0;
  for (int i = 0; i < rounds; ++i) {
    void* library = dlopen(argv[2 + i % 2], RTLD_NOW);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const function f = (function)dlsym(library, "churn_function");
    addresses[i % 2] = (uintptr_t)f;
    same += addresses[0] == addresses[1];
    pthread_rwlock_wrlock(&g_lock);
    g_function = f;
    pthread_rwlock_unlock(&g_lock);
    f(allocate, 2);
    usleep(300);
    pthread_rwlock_wrlock(&g_lock);
    g_function = NULL;
    pthread_rwlock_unlock(&g_lock);
    dlclose(library);
  }
  g_done = 1;
  for (int i = 0; i < 8; ++i) {
    pthread_join(threads[i], NULL);
  }
  printf("%d rounds, %d at one address\n", rounds, same);
  return same * 2 > rounds ? 0 : 1;
}
