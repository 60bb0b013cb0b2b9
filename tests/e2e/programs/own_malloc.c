// SPDX-License-Identifier: Apache-2.0
// A program with an allocator inside: it exports malloc, the C library's calls go to it, and a block of it
// would crash in another free.  Loads memprof (argument), which must leave all as it is and say so.
#include <dlfcn.h>

#include <unistd.h>

#include "memprof.h"
#include "truth.h"

enum { kMagic = 0x600dc0de };
static char g_pool[1 << 22] __attribute__((aligned(16)));
static size_t g_used;

struct header {
  size_t size;
  size_t magic;
};

static void* take(size_t size) {
  struct header* h = (struct header*)(g_pool + g_used);
  g_used += (sizeof(*h) + size + 15) & ~(size_t)15;
  if (g_used > sizeof(g_pool)) _exit(3);
  h->size = size;
  h->magic = kMagic;
  return h + 1;
}

static size_t size_of(void* block) {
  struct header* h = (struct header*)block - 1;
  if (h->magic != kMagic) abort();  // another allocator's
  return h->size;
}

void* malloc(size_t size) {
  return take(size);
}
void free(void* block) {
  if (block != NULL) size_of(block);
}
void* calloc(size_t count, size_t size) {
  return take(count * size);  // the pool is zero
}
void* realloc(void* block, size_t size) {
  void* moved = take(size);
  if (block != NULL) memcpy(moved, block, size_of(block) < size ? size_of(block) : size);
  return moved;
}

int main(int argc, char** argv) {
  if (argc < 2) die("which library?");
  char* before = strdup("before");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) die(dlerror());
  int (*init)(const memprof_options*) = (int (*)(const memprof_options*))dlsym(library, "memprof_init");
  int (*start)(void) = (int (*)(void))dlsym(library, "memprof_start");
  const char* (*text)(int) = (const char* (*)(int))dlsym(library, "memprof_strerror");
  printf("init %s\n", text(init(NULL)));
  printf("start %s\n", text(start()));
  free(before);
  free(strdup("after"));
  FILE* file = fopen("/dev/null", "w");
  fprintf(file, "%d", argc);
  fclose(file);
  free(realloc(malloc(10), 100));
  return 0;
}
