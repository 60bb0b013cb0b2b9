// SPDX-License-Identifier: Apache-2.0
// Loads a library that has an allocator inside, and calls plugin_run() in it.
//   inner_host LIBRARY ROUNDS         once; says "truth BYTES COUNT"
//   inner_host LIBRARY ROUNDS 1       the same, and maps 3 MiB itself
//   inner_host LIBRARY ROUNDS TIMES   loads, runs and unloads it so often, while threads allocate
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "truth.h"

static volatile int g_ends;

static void* allocate(void* argument) {
  while (!g_ends) free(malloc(100));
  return argument;
}

__attribute__((noinline)) static void map_itself(void) {
  void* mapped = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) die("no memory");
  memset(mapped, 1, 1 << 20);
}

int main(int argc, char** argv) {
  if (argc < 3) die("which library, how many rounds?");
  const int times = argc > 3 ? atoi(argv[3]) : 1;
  if (argc > 3 && times == 1) map_itself();
  pthread_t threads[2];
  for (int i = 0; times > 1 && i < 2; ++i) pthread_create(&threads[i], NULL, allocate, NULL);
  size_t kept = 0;
  for (int i = 0; i < times; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) die(dlerror());
    size_t (*run)(int) = (size_t (*)(int))dlsym(library, "plugin_run");
    void (*end)(void) = (void (*)(void))dlsym(library, "plugin_end");
    kept += run(atoi(argv[2]));
    if (times > 1) {
      end();
      if (dlclose(library) != 0) die("not closed");
    }
  }
  g_ends = 1;
  for (int i = 0; times > 1 && i < 2; ++i) pthread_join(threads[i], NULL);
  printf("truth %zu %d\n", kept, 3 * atoi(argv[2]) * times);
  return 0;
}
