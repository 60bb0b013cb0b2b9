// SPDX-License-Identifier: Apache-2.0
// libmalloc as its caller and its logger see it: zones, and the logger in the order of libmalloc 792.1.1 (malloc.c and
// malloc_type.c; the function is named at each).  A block that is freed is the next one of its size class that anybody
// gets, so that an address that is told of too late is another thread's already; MEMPROF_LOADER_YIELD=1: the thread lets the
// others run at each place where that can happen.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loader.h"

#define MALLOC_TEXT __attribute__((section("sim_malloc_text"), noinline))

typedef void logger_t(uint32_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uint32_t);
logger_t* volatile mac_malloc_logger;
int g_loader_yields;

enum { kAllocated = 2, kFreed = 4, kHasZone = 8, kCleared = 64 };
enum { kClasses = 40, kMaxZones = 64 };

struct zone {
  char name[64];
  const char* name_pointer;
  struct header* blocks;  // of zones that are made: all that live
  int is_made;
};
struct header {
  uint64_t size;
  uint32_t class;
  struct zone* zone;
  char* chunk;
  struct header *next, *before;
  uint64_t check;
};
static struct zone g_zones[kMaxZones] = {{.name = "DefaultMallocZone", .name_pointer = g_zones[0].name}};
static char* g_free[kClasses];
static char *g_room, *g_room_end;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

// A logger that is there before ours; MEMPROF_LOADER_LOGGER=1.
static unsigned long g_logged;
static void count_call(uint32_t type, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t result,
                       uint32_t skipped) {
  (void)type, (void)a, (void)b, (void)c, (void)result, (void)skipped;
  __atomic_fetch_add(&g_logged, 1, __ATOMIC_RELAXED);
}
void set_first_logger(void) {
  mac_malloc_logger = count_call;
}
unsigned long first_logger_calls(void) {
  return g_logged;
}

static struct header* header_of(const void* block) {
  return (struct header*)((uintptr_t)block - sizeof(struct header));
}

static void let_others_run(void) {
  if (g_loader_yields) sched_yield();
}

static char* take_chunk(uint32_t class) {
  char* chunk = g_free[class];
  if (chunk != NULL) {
    memcpy(&g_free[class], chunk, sizeof(char*));
    return chunk;
  }
  const size_t size = (size_t)1 << class;
  if (g_room == NULL || (size_t)(g_room_end - g_room) < size) {
    const size_t room = size > ((size_t)64 << 20) ? size : (size_t)64 << 20;
    g_room = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g_room == MAP_FAILED) return g_room = NULL;
    g_room_end = g_room + room;
  }
  chunk = g_room;
  g_room += size;
  return chunk;
}

static void* zone_take(struct zone* zone, size_t size, size_t alignment) {
  if (size > (size_t)1 << 36) return NULL;
  const size_t wanted = size + sizeof(struct header) + alignment + 16;
  uint32_t class = 6;
  while (((size_t)1 << class) < wanted) ++class;
  pthread_mutex_lock(&g_lock);
  char* chunk = take_chunk(class);
  if (chunk == NULL) {
    pthread_mutex_unlock(&g_lock);
    return NULL;
  }
  const uintptr_t block = ((uintptr_t)chunk + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
  struct header* header = header_of((void*)block);
  *header = (struct header){.size = size, .class = class, .zone = zone, .chunk = chunk, .check = block};
  if (zone->is_made) {
    header->next = zone->blocks;
    if (header->next != NULL) header->next->before = header;
    zone->blocks = header;
  }
  pthread_mutex_unlock(&g_lock);
  return (void*)block;
}

static void zone_give(void* block) {
  struct header* header = header_of(block);
  if (header->check != (uintptr_t)block) abort();  // freed twice, or never a block
  pthread_mutex_lock(&g_lock);
  header->check = 0;
  if (header->zone->is_made) {
    if (header->next != NULL) header->next->before = header->before;
    *(header->before != NULL ? &header->before->next : &header->zone->blocks) = header->next;
  }
  char* chunk = header->chunk;
  const uint32_t class = header->class;
  memcpy(chunk, &g_free[class], sizeof(char*));
  g_free[class] = chunk;
  pthread_mutex_unlock(&g_lock);
  let_others_run();
}

// In place where the class stays, else into a new block; the old one is free for all threads before this returns.
static void* zone_move(struct zone* zone, void* block, size_t size) {
  struct header* header = header_of(block);
  if (header->check != (uintptr_t)block) abort();
  const size_t offset = (size_t)((char*)block - header->chunk);
  if (offset + size <= (size_t)1 << header->class && size * 4 >= header->size) {
    header->size = size;
    return block;
  }
  void* moved = zone_take(zone, size, 16);
  if (moved == NULL) return NULL;
  memcpy(moved, block, header->size < size ? header->size : size);
  zone_give(block);
  return moved;
}

static void log_malloc(uint32_t type, struct zone* zone, uintptr_t a, uintptr_t b, void* result) {
  // Read twice, as there.
  if (mac_malloc_logger) mac_malloc_logger(type | kHasZone, (uintptr_t)zone, a, b, (uintptr_t)result, 0);
}

static struct zone* zone_or_default(struct zone* zone) {
  return zone != NULL ? zone : &g_zones[0];
}

// _malloc_zone_malloc_instrumented_or_legacy
MALLOC_TEXT void* mac_malloc_zone_malloc(struct zone* zone, size_t size) {
  void* block = zone_take(zone_or_default(zone), size, 16);
  log_malloc(kAllocated, zone_or_default(zone), size, 0, block);
  return block;
}
// _malloc_zone_calloc_instrumented_or_legacy
MALLOC_TEXT void* mac_malloc_zone_calloc(struct zone* zone, size_t count, size_t size) {
  void* block = zone_take(zone_or_default(zone), count * size, 16);
  if (block != NULL) memset(block, 0, count * size);
  log_malloc(kAllocated | kCleared, zone_or_default(zone), count * size, 0, block);
  return block;
}
// _malloc_zone_valloc
MALLOC_TEXT void* mac_malloc_zone_valloc(struct zone* zone, size_t size) {
  void* block = zone_take(zone_or_default(zone), size, 4096);
  log_malloc(kAllocated, zone_or_default(zone), size, 0, block);
  return block;
}
// _malloc_zone_memalign
MALLOC_TEXT void* mac_malloc_zone_memalign(struct zone* zone, size_t alignment, size_t size) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return NULL;
  void* block = zone_take(zone_or_default(zone), size, alignment < 16 ? 16 : alignment);
  log_malloc(kAllocated, zone_or_default(zone), size, 0, block);
  return block;
}
// malloc_zone_free, malloc_zone_free_definite_size
MALLOC_TEXT void mac_malloc_zone_free(struct zone* zone, void* block) {
  log_malloc(kFreed, zone_or_default(zone), (uintptr_t)block, 0, NULL);
  if (block != NULL) zone_give(block);
}
// _malloc_zone_realloc: it logs a failure, too, but not a size beyond malloc_absolute_max_size
MALLOC_TEXT void* mac_malloc_zone_realloc(struct zone* zone, void* block, size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  void* moved = block != NULL ? zone_move(zone_or_default(zone), block, size)
                              : zone_take(zone_or_default(zone), size, 16);
  log_malloc(kAllocated | kFreed, zone_or_default(zone), (uintptr_t)block, size, moved);
  return moved;
}
// malloc_zone_batch_malloc
MALLOC_TEXT unsigned mac_malloc_zone_batch_malloc(struct zone* zone, size_t size, void** results,
                                                  unsigned count) {
  unsigned got = 0;
  while (got < count && (results[got] = zone_take(zone_or_default(zone), size, 16)) != NULL) ++got;
  for (unsigned i = 0; mac_malloc_logger && i < got; ++i)
    log_malloc(kAllocated, zone_or_default(zone), size, 0, results[i]);
  return got;
}
// malloc_zone_batch_free
MALLOC_TEXT void mac_malloc_zone_batch_free(struct zone* zone, void** blocks, unsigned count) {
  for (unsigned i = 0; mac_malloc_logger && i < count; ++i)
    log_malloc(kFreed, zone_or_default(zone), (uintptr_t)blocks[i], 0, NULL);
  for (unsigned i = 0; i < count; ++i) zone_give(blocks[i]);
}

MALLOC_TEXT void* mac_malloc(size_t size) {
  void* block = mac_malloc_zone_malloc(NULL, size);
  if (block == NULL) errno = ENOMEM;
  return block;
}
MALLOC_TEXT void* mac_calloc(size_t count, size_t size) {
  void* block = mac_malloc_zone_calloc(NULL, count, size);
  return block;
}
MALLOC_TEXT void* mac_valloc(size_t size) {
  void* block = mac_malloc_zone_valloc(NULL, size);
  return block;
}
MALLOC_TEXT void* mac_aligned_alloc(size_t alignment, size_t size) {
  void* block = mac_malloc_zone_memalign(NULL, alignment, size);
  return block;
}
MALLOC_TEXT int mac_posix_memalign(void** block, size_t alignment, size_t size) {
  void* got = mac_malloc_zone_memalign(NULL, alignment, size);
  if (got == NULL) return ENOMEM;
  *block = got;
  return 0;
}
// _free: NULL is not logged; find_zone_and_free
MALLOC_TEXT void mac_free(void* block) {
  if (block != NULL) mac_malloc_zone_free(header_of(block)->zone, block);
}
// _realloc: to size 0 it allocates, and then frees
MALLOC_TEXT void* mac_realloc(void* block, size_t size) {
  void* moved;
  if (block == NULL) {
    moved = mac_malloc_zone_malloc(NULL, size);
  } else if (size == 0) {
    moved = mac_malloc_zone_malloc(NULL, size);
  } else {
    moved = mac_malloc_zone_realloc(header_of(block)->zone, block, size);
  }
  if (moved == NULL) {
    errno = ENOMEM;
  } else if (size == 0 && block != NULL) {
    mac_free(block);
  }
  return moved;
}
typedef void* realloc_t(void*, size_t);
// reallocf: through the symbol, which may be interposed
MALLOC_TEXT void* mac_reallocf(void* block, size_t size) {
  void* moved = ((realloc_t*)after_interposing((void*)mac_realloc))(block, size);
  if (moved == NULL && block != NULL && size != 0) mac_free(block);
  return moved;
}
// malloc_type_malloc and kin, as compilers of macOS 15 call them: logged by the untyped function below them
MALLOC_TEXT void* mac_malloc_type_malloc(size_t size, uint64_t type) {
  (void)type;
  void* block = mac_malloc(size);
  return block;
}
MALLOC_TEXT void* mac_malloc_type_calloc(size_t count, size_t size, uint64_t type) {
  (void)type;
  void* block = mac_calloc(count, size);
  return block;
}
MALLOC_TEXT void mac_malloc_type_free(void* block, uint64_t type) {
  (void)type;
  mac_free(block);
}
// _malloc_type_realloc_outlined: where only untyped functions are interposed (malloc_interposition_compat), through the symbol
MALLOC_TEXT void* mac_malloc_type_realloc(void* block, size_t size, uint64_t type) {
  (void)type;
  void* moved = ((realloc_t*)after_interposing((void*)mac_realloc))(block, size);
  return moved;
}

struct zone* mac_malloc_create_zone(size_t start_size, unsigned flags) {
  (void)start_size, (void)flags;
  pthread_mutex_lock(&g_lock);
  struct zone* zone = NULL;
  for (int i = 1; i < kMaxZones && zone == NULL; ++i) {
    if (!g_zones[i].is_made) zone = &g_zones[i];
  }
  if (zone != NULL) *zone = (struct zone){.is_made = 1};
  pthread_mutex_unlock(&g_lock);
  return zone;
}
void mac_malloc_set_zone_name(struct zone* zone, const char* name) {
  zone->name_pointer = NULL;
  if (name != NULL) {
    strncpy(zone->name, name, sizeof(zone->name) - 1);
    zone->name_pointer = zone->name;
  }
}
const char* mac_malloc_get_zone_name(struct zone* zone) {
  return zone->name_pointer;
}
struct zone* mac_malloc_default_zone(void) {
  return &g_zones[0];
}
struct zone* mac_malloc_zone_from_ptr(const void* block) {
  return block != NULL && header_of(block)->check == (uintptr_t)block ? header_of(block)->zone : NULL;
}
// malloc_destroy_zone: its blocks are freed, and no logger is told
void mac_malloc_destroy_zone(struct zone* zone) {
  mac_malloc_set_zone_name(zone, NULL);
  while (zone->blocks != NULL) zone_give((char*)zone->blocks + sizeof(struct header));
  pthread_mutex_lock(&g_lock);
  zone->is_made = 0;
  pthread_mutex_unlock(&g_lock);
}
