/* SPDX-License-Identifier: Apache-2.0
 * Opens the library that its first argument names, starts it at rate 0 while a thread allocates, and writes a profile to the second. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int ends;
static void* kept[1000];

static void* busy(void* nothing) {
  while (!ends) {
    free(malloc(77));
  }
  return nothing;
}

__attribute__((noinline)) void keep_started(void) {
  for (int i = 0; i < 1000; ++i) {
    kept[i] = malloc(101);
    if (i % 2 != 0) {
      free(kept[i]);
    }
  }
}

int main(int count, char** arguments) {
  pthread_t thread;
  pthread_create(&thread, NULL, busy, NULL);
  void* library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    puts(dlerror());
    return 1;
  }
  int (*init)(const void*) = (int (*)(const void*))dlsym(library, "memprof_init");
  int (*set_rate)(uint64_t) = (int (*)(uint64_t))dlsym(library, "memprof_set_rate");
  int (*start)(uint32_t) = (int (*)(uint32_t))dlsym(library, "memprof_start");
  int (*write)(const char*, uint32_t) =
      (int (*)(const char*, uint32_t))dlsym(library, "memprof_write_profile");
  if (init(NULL) != 0 || set_rate(0) != 0 || start(0) != 0) {
    return 2;
  }
  keep_started();
  if (write(arguments[2], 0) != 0) {
    return 3;
  }
  ends = 1;
  pthread_join(thread, NULL);
  return 0;
}
