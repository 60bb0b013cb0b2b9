// SPDX-License-Identifier: Apache-2.0
// Opens a library in one of several ways, and lets it and itself allocate and free each other's blocks. Prints what it
// expects to be live at its end as "function blocks bytes". "apart" and "alone": the library frees its own blocks only.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 3000

typedef void* (*Keep)(size_t);

static void* g_blocks[BLOCKS];
static volatile int g_stop;

__attribute__((noinline)) void* main_keep(size_t size) {
  void* block = malloc(size);
  memset(block, 1, size);
  return block;
}

// Allocates and frees for as long as libraries are opened.
__attribute__((noinline)) static void* churn(void* unused) {
  while (!g_stop) {
    void* blocks[64];
    for (int i = 0; i < 64; ++i) blocks[i] = main_keep(40 + i);
    for (int i = 0; i < 64; ++i) free(blocks[i]);
  }
  return unused;
}

static void* open_library(const char* path, const char* way) {
  void* library = strcmp(way, "apart") == 0   ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
                  : strcmp(way, "lazy") == 0  ? dlopen(path, RTLD_LAZY | RTLD_DEEPBIND)
                  : strcmp(way, "plain") == 0 ? dlopen(path, RTLD_NOW)
                                              : dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL) {
    puts(dlerror());
    exit(strcmp(way, "apart") == 0 ? 0 : 1);
  }
  return library;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const char* const path = arguments[1];
  const char* const way = arguments[2];
  const int reloads = count > 3 ? atoi(arguments[3]) : 0;
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    if (pthread_create(&threads[i], NULL, churn, NULL) != 0) return 3;
  }
  for (int i = 0; i < reloads; ++i) {
    void* library = open_library(path, way);
    Keep keep = (Keep)dlsym(library, "plug_keep");
    void (*drop)(void*) = (void (*)(void*))dlsym(library, "plug_free");
    drop(main_keep(100));
    free(keep(200));
    if (dlclose(library) != 0) return 4;
  }
  void* library = open_library(path, way);
  g_stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  Keep keep = (Keep)dlsym(library, "plug_keep");
  void (*drop)(void*) = (void (*)(void*))dlsym(library, "plug_free");
  void* (*grow)(void*, size_t) = (void* (*)(void*, size_t))dlsym(library, "plug_grow");
  if (strcmp(way, "apart") == 0 || strcmp(way, "alone") == 0) {  // it has a heap of its own
    for (int i = 0; i < BLOCKS; ++i) g_blocks[i] = keep(500);
    return 0;
  }
  for (int i = 0; i < BLOCKS; ++i) g_blocks[i] = i % 2 == 0 ? keep(500) : main_keep(300);
  for (int i = 0; i < BLOCKS / 3; ++i) (i % 4 < 2 ? drop : free)(g_blocks[i]);  // each the other's, too
  g_blocks[BLOCKS - 2] = realloc(g_blocks[BLOCKS - 2], 700);                    // the library's
  g_blocks[BLOCKS - 1] = grow(g_blocks[BLOCKS - 1], 900);                       // ours
  printf("plug_keep %d %d\n", BLOCKS / 3 - 1, (BLOCKS / 3 - 1) * 500);
  printf("main_keep %d %d\n", BLOCKS / 3 - 1, (BLOCKS / 3 - 1) * 300);
  printf("plug_grow 1 900\n");
  printf("plug_begin 1 1234\n");
  fflush(stdout);
  return 0;
}
