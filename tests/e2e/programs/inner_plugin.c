// SPDX-License-Identifier: Apache-2.0
// A library with an allocator inside, by the names of rpmalloc.  With LYING its functions are none of an allocator; with
// REFUSING one of them gives nothing; with INLINED it has the names of DuckDB's jemalloc, and what allocates was inlined into
// the functions of DuckDB that call it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined(INLINED)
#define rpmalloc duckdb_je_malloc
#define rpfree duckdb_je_free
#define rpcalloc duckdb_je_calloc
#define rprealloc duckdb_je_realloc
#endif

static char* g_pool;
enum { kPoolBytes = 64 << 20 };

#if defined(LYING)
// The length of a text.
__attribute__((noinline, visibility("default"))) size_t rpmalloc(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}
__attribute__((noinline, visibility("default"))) void rpfree(size_t* length) {
  *length += 1;
}
__attribute__((visibility("default"))) size_t plugin_run(int rounds) {
  size_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    sum += rpmalloc("four");
    rpfree(&sum);
  }
  return sum;
}
#else
static size_t g_used;

struct header {
  size_t size;
  struct header* next;
};
static struct header* g_free;

__attribute__((always_inline)) static inline void* take(size_t size) {
  for (struct header** at = &g_free; *at != NULL; at = &(*at)->next) {
    if ((*at)->size == size) {
      struct header* found = *at;
      *at = found->next;
      return found + 1;
    }
  }
  if (g_pool == NULL) {
    g_pool = mmap(NULL, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  struct header* made = (struct header*)(g_pool + g_used);
  g_used += sizeof(struct header) + ((size + 15) & ~(size_t)15);
  if (g_used > kPoolBytes) return NULL;
  made->size = size;
  return made + 1;
}
__attribute__((always_inline)) static inline void give_back(void* block) {
  if (block == NULL) return;
  struct header* freed = (struct header*)block - 1;
  freed->next = g_free;
  g_free = freed;
}
__attribute__((noinline, visibility("default"))) void* rpmalloc(size_t size) {
  return take(size);
}
__attribute__((noinline, visibility("default"))) void rpfree(void* block) {
  give_back(block);
}
// Calls the other functions by their names, which are hooked, too.
__attribute__((noinline, visibility("default"))) void* rpcalloc(size_t count, size_t size) {
  void* block = rpmalloc(count * size);
  return block != NULL ? memset(block, 0, count * size) : NULL;
}
__attribute__((noinline, visibility("default"))) void* rprealloc(void* block, size_t size) {
  void* moved = rpmalloc(size);
  if (block != NULL && moved != NULL) {
    const size_t old = ((struct header*)block - 1)->size;
    memcpy(moved, block, old < size ? old : size);
    rpfree(block);
  }
  return moved;
}
#if defined(REFUSING)
// Only sizes that are a multiple of the alignment, as C11 has it; and a function that is not there yet.
__attribute__((noinline, visibility("default"))) void* rpaligned_alloc(size_t alignment, size_t size) {
  if (size % alignment != 0) return NULL;
  struct header* found = take(size + 2 * alignment);
  const uintptr_t block = ((uintptr_t)found + 2 * alignment - 1) & ~(uintptr_t)(alignment - 1);
  struct header* made = (struct header*)block - 1;
  made->size = size;
  return made + 1;
}
static int g_is_ready;
__attribute__((noinline, visibility("default"))) void* rpmemalign(size_t alignment, size_t size) {
  return g_is_ready && alignment <= 16 ? take(size) : NULL;
}
__attribute__((noinline)) static void* plugin_keep_late(size_t size) {
  return rpmemalign(16, size);
}
#endif
#if defined(INLINED)
#define EXPORTED __attribute__((noinline, visibility("default")))
#define DUCKDB(name) __asm__("_ZN6duckdb9Allocator" name)
EXPORTED void* default_allocate(void* data, size_t size)
    DUCKDB("15DefaultAllocateEPNS_20PrivateAllocatorDataEm");
EXPORTED void default_free(void* data, uint8_t* block, size_t size)
    DUCKDB("11DefaultFreeEPNS_20PrivateAllocatorDataEPhm");
EXPORTED void* default_reallocate(void* data, uint8_t* block, size_t old_size, size_t size)
    DUCKDB("17DefaultReallocateEPNS_20PrivateAllocatorDataEPhmm");
void* default_allocate(void* data, size_t size) {
  (void)data;
  return take(size);
}
void default_free(void* data, uint8_t* block, size_t size) {
  (void)data;
  (void)size;
  give_back(block);
}
// It calls a function that is hooked itself.
void* default_reallocate(void* data, uint8_t* block, size_t old_size, size_t size) {
  (void)data;
  (void)old_size;
  return rprealloc(block, size);
}
#undef rpmalloc
#undef rpfree
#undef rprealloc
#define rpmalloc(size) default_allocate(NULL, size)
#define rpfree(block) default_free(NULL, block, 0)
#define rprealloc(block, size) default_reallocate(NULL, block, 0, size)
#endif
__attribute__((noinline)) static void* plugin_keep(size_t size) {
  return rpmalloc(size);
}
__attribute__((noinline)) static void* plugin_keep_zeroed(size_t size) {
  return rpcalloc(1, size);
}
__attribute__((noinline)) static void* plugin_keep_moved(void* block, size_t size) {
  return rprealloc(block, size);
}
// Keeps three blocks a round; returns their bytes.
__attribute__((visibility("default"))) size_t plugin_run(int rounds) {
  size_t kept = 0;
  for (int i = 0; i < rounds; ++i) {
    const size_t size = 1000 + 16 * (size_t)(i % 10);
    memset(plugin_keep(size), 1, size);
    memset(plugin_keep_zeroed(2 * size), 1, 2 * size);
    memset(plugin_keep_moved(rpmalloc(32), 3 * size), 1, 3 * size);
    rpfree(rpmalloc(size));
    kept += 6 * size;
#if defined(REFUSING)
    g_is_ready = 1;
    rpfree(plugin_keep_late(640));  // nobody knows it
#endif
  }
  return kept;
}
#endif

__attribute__((visibility("default"))) void plugin_end(void) {
  if (g_pool != NULL) munmap(g_pool, kPoolBytes);
}
