// SPDX-License-Identifier: Apache-2.0
// A program whose threads allocate all the time by an allocator inside it, some of them with all signals blocked.  It says
// "ready", does what it reads from standard input, and says "ok" at its end if nobody has written to another's block.
//   inner_late [fork] [reload LIBRARY]    besides, children are forked, or a library (inner_plugin.c) is loaded, run and
//                                         unloaded, repeatedly
// A line of input: "keep ROUNDS" keeps blocks (functions named keep_*) and says "truth BYTES COUNT"; "free" frees
// them and says "freed"; "load LIBRARY ROUNDS" loads a library, calls plugin_run() in it and says what it kept.
// ALLOCATOR_PREFIX: of functions of a real allocator that is linked with it (je_malloc); else it has its own.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOIN(a, b) a##b
#define NAME(prefix, name) JOIN(prefix, name)

enum { kThreads = 8, kBlocks = 64, kMaxKept = 4000 };

static void die(const char* what) {
  fprintf(stderr, "%s\n", what);
  _exit(9);
}

#if defined(ALLOCATOR_PREFIX)
void* NAME(ALLOCATOR_PREFIX, malloc)(size_t);
void* NAME(ALLOCATOR_PREFIX, calloc)(size_t, size_t);
void* NAME(ALLOCATOR_PREFIX, realloc)(void*, size_t);
void NAME(ALLOCATOR_PREFIX, free)(void*);
#else
// By the names of rpmalloc.
#define ALLOCATOR_PREFIX rp
#define API __attribute__((noinline, visibility("hidden")))  // a library has functions of the same names

struct header {
  size_t size;
  struct header* next;
};
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct header* g_free[64];
static char* g_at;
static char* g_end;

static unsigned class_of(size_t size) {
  unsigned i = 4;
  while (((size_t)1 << i) < size) ++i;
  return i;
}
API void* rpmalloc(size_t size) {
  const unsigned i = class_of(size + sizeof(struct header));
  const size_t bytes = (size_t)1 << i;
  pthread_mutex_lock(&g_lock);
  struct header* made = g_free[i];
  if (made != NULL) {
    g_free[i] = made->next;
  } else {
    if ((size_t)(g_end - g_at) < bytes) {
      const size_t chunk = bytes > (4 << 20) ? bytes : 4 << 20;
      g_at = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (g_at == MAP_FAILED) die("no memory");
      g_end = g_at + chunk;
    }
    made = (struct header*)g_at;
    g_at += bytes;
  }
  pthread_mutex_unlock(&g_lock);
  made->size = size;
  return made + 1;
}
API void rpfree(void* block) {
  if (block == NULL) return;
  struct header* freed = (struct header*)block - 1;
  const unsigned i = class_of(freed->size + sizeof(struct header));
  pthread_mutex_lock(&g_lock);
  freed->next = g_free[i];
  g_free[i] = freed;
  pthread_mutex_unlock(&g_lock);
}
API void* rpcalloc(size_t count, size_t size) {
  return memset(rpmalloc(count * size), 0, count * size);
}
API void* rprealloc(void* block, size_t size) {
  void* moved = rpmalloc(size);
  if (block != NULL) {
    const size_t old = ((struct header*)block - 1)->size;
    memcpy(moved, block, old < size ? old : size);
    rpfree(block);
  }
  return moved;
}
#endif

#define ALLOCATE NAME(ALLOCATOR_PREFIX, malloc)
#define ALLOCATE_ZEROED NAME(ALLOCATOR_PREFIX, calloc)
#define REALLOCATE NAME(ALLOCATOR_PREFIX, realloc)
#define RELEASE NAME(ALLOCATOR_PREFIX, free)

static volatile int g_ends;
static void* g_kept[kMaxKept];
static size_t g_kept_count;
static size_t g_kept_bytes;

__attribute__((noinline)) static void* keep_block(size_t size) {
  return ALLOCATE(size);
}
__attribute__((noinline)) static void* keep_zeroed(size_t size) {
  return ALLOCATE_ZEROED(1, size);
}
__attribute__((noinline)) static void* keep_moved(size_t size) {
  return REALLOCATE(ALLOCATE(size / 2 + 1), size);
}

static void keep(int rounds) {
  void* (*const ways[3])(size_t) = {keep_block, keep_zeroed, keep_moved};
  for (int i = 0; i < 3 * rounds && g_kept_count < kMaxKept; ++i) {
    const size_t size = 100 + 8 * (size_t)(i % 1000);
    void* block = ways[i % 3](size);
    memset(block, 1, size);
    g_kept[g_kept_count++] = block;
    g_kept_bytes += size;
  }
  printf("truth %zu %zu\n", g_kept_bytes, g_kept_count);
}

static void free_kept(void) {
  while (g_kept_count != 0) RELEASE(g_kept[--g_kept_count]);
  g_kept_bytes = 0;
  printf("freed\n");
}

static void check(const unsigned char* block, size_t size, unsigned char mark) {
  if (block[0] != mark || block[size - 1] != mark) die("somebody has written to another's block");
}

static void* work(void* argument) {
  unsigned seed = 1 + (unsigned)(uintptr_t)argument;
  unsigned char* blocks[kBlocks] = {NULL};
  size_t sizes[kBlocks] = {0};
  const unsigned char mark = (unsigned char)seed;
  while (!g_ends) {
    const unsigned drawn = (unsigned)rand_r(&seed);
    const size_t at = drawn % kBlocks;
    const size_t size = 1 + (drawn >> 8) % 2000;
    if (blocks[at] == NULL) {
      blocks[at] = drawn & 64 ? ALLOCATE(size) : ALLOCATE_ZEROED(1, size);
    } else if (drawn & 64) {
      check(blocks[at], sizes[at], mark);
      blocks[at] = REALLOCATE(blocks[at], size);
    } else {
      check(blocks[at], sizes[at], mark);
      RELEASE(blocks[at]);
      blocks[at] = NULL;
      continue;
    }
    sizes[at] = size;
    memset(blocks[at], mark, size);
  }
  for (size_t i = 0; i < kBlocks; ++i) RELEASE(blocks[i]);
  return NULL;
}

static void* fork_children(void* argument) {
  while (!g_ends) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) die("a child failed");
  }
  return argument;
}

static size_t run_plugin(const char* path, int rounds, int is_unloaded) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die(dlerror());
  size_t (*run)(int) = (size_t (*)(int))dlsym(library, "plugin_run");
  void (*end)(void) = (void (*)(void))dlsym(library, "plugin_end");
  const size_t kept = run(rounds);
  if (is_unloaded) {
    end();
    if (dlclose(library) != 0) die("not closed");
  }
  return kept;
}

static void* reload(void* path) {
  while (!g_ends) run_plugin(path, 10, 1);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads + 2];
  int count = 0;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (; count < kThreads; ++count) {
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (count % 2 == 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_create(&threads[count], NULL, work, (void*)(intptr_t)count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "fork") == 0) pthread_create(&threads[count++], NULL, fork_children, NULL);
    if (strcmp(argv[i], "reload") == 0 && i + 1 < argc)
      pthread_create(&threads[count++], NULL, reload, argv[i + 1]);
  }
  char line[1000];
  char path[1000];
  int rounds = 0;
  for (const char* said = "ready\n"; said != NULL; said = "") {
    printf("%s", said);
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL) break;
    if (sscanf(line, "keep %d", &rounds) == 1) keep(rounds);
    if (strcmp(line, "free\n") == 0) free_kept();
    if (sscanf(line, "load %999s %d", path, &rounds) == 2) printf("truth %zu\n", run_plugin(path, rounds, 0));
  }
  g_ends = 1;
  while (count != 0) pthread_join(threads[--count], NULL);
  printf("ok\n");
  return 0;
}
