// SPDX-License-Identifier: Apache-2.0
// usage: exact THREADS ROUNDS [kill]    allocates by each function of libmalloc from many threads at once, and says how much
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "truth.h"

typedef struct _malloc_zone_t malloc_zone_t;
malloc_zone_t* malloc_create_zone(size_t start_size, unsigned flags);
void malloc_set_zone_name(malloc_zone_t* zone, const char* name);
malloc_zone_t* malloc_default_zone(void);
void* malloc_zone_malloc(malloc_zone_t* zone, size_t size);
void* malloc_zone_calloc(malloc_zone_t* zone, size_t count, size_t size);
void* malloc_zone_valloc(malloc_zone_t* zone, size_t size);
void* malloc_zone_memalign(malloc_zone_t* zone, size_t alignment, size_t size);
void* malloc_zone_realloc(malloc_zone_t* zone, void* block, size_t size);
void malloc_zone_free(malloc_zone_t* zone, void* block);
unsigned malloc_zone_batch_malloc(malloc_zone_t* zone, size_t size, void** results, unsigned count);
void malloc_zone_batch_free(malloc_zone_t* zone, void** blocks, unsigned count);
// As compilers of macOS 15 call them.
void* malloc_type_malloc(size_t size, unsigned long long type) __attribute__((weak_import));
void* malloc_type_realloc(void* block, size_t size, unsigned long long type) __attribute__((weak_import));
void* reallocf(void* block, size_t size);

static malloc_zone_t* g_zone;
static unsigned long g_rounds;

SITE void* keep_malloc(void) {
  void* p = malloc(101);
  STAY;
  return p;
}
SITE void* keep_calloc(void) {
  void* p = calloc(3, 53);
  STAY;
  return p;
}
SITE void* keep_valloc(void) {
  void* p = valloc(211);
  STAY;
  return p;
}
SITE void* keep_aligned(void) {
  void* p = aligned_alloc(256, 256);
  STAY;
  return p;
}
SITE void* keep_posix_memalign(void) {
  void* p = NULL;
  if (posix_memalign(&p, 64, 131) != 0) abort();
  STAY;
  return p;
}
SITE void* keep_zone(void) {
  void* p = malloc_zone_malloc(g_zone, 77);
  STAY;
  return p;
}
SITE void* keep_zone_calloc(void) {
  void* p = malloc_zone_calloc(malloc_default_zone(), 7, 11);
  STAY;
  return p;
}
SITE void* keep_typed(void) {
  void* p = malloc_type_malloc(307, 5);
  STAY;
  return p;
}
SITE void* keep_nothing(void) {
  void* p = malloc(0);
  STAY;
  return p;
}
SITE void* site_small(void) {
  void* p = malloc(40);
  STAY;
  return p;
}
SITE void* site_realloc(void* p) {
  p = realloc(p, 700);
  STAY;
  return p;
}
SITE void* site_in_place(void* p) {
  p = realloc(p, 690);
  STAY;
  return p;
}
SITE void* site_reallocf(void* p) {
  p = reallocf(p, 1500);
  STAY;
  return p;
}
SITE void* site_typed_realloc(void* p) {
  p = malloc_type_realloc(p, 3300, 5);
  STAY;
  return p;
}
SITE void* site_zone_realloc(void* p) {
  p = malloc_zone_realloc(malloc_default_zone(), p, 7000);
  STAY;
  return p;
}
SITE void* site_to_nothing(void* p) {
  p = realloc(p, 0);
  STAY;
  return p;
}
SITE void* site_from_nothing(void) {
  void* p = realloc(NULL, 19);
  STAY;
  return p;
}
SITE void site_refused(void* p) {
  if (realloc(p, (size_t)1 << 40) != NULL) abort();
  STAY;
}
SITE void site_batch(void) {
  void* blocks[8];
  const unsigned got = malloc_zone_batch_malloc(malloc_default_zone(), 24, blocks, 8);
  STAY;
  malloc_zone_batch_free(malloc_default_zone(), blocks, got);
}
SITE void* site_zone_memalign(void) {
  void* p = malloc_zone_memalign(g_zone, 128, 500);
  STAY;
  return p;
}

static void one_round(void) {
  keep_malloc();
  keep_calloc();
  keep_aligned();
  keep_posix_memalign();
  keep_zone();
  keep_zone_calloc();
  keep_typed();
  keep_nothing();
  void* p = site_small();
  p = site_realloc(p);
  p = site_in_place(p);
  p = site_reallocf(p);
  p = site_typed_realloc(p);
  p = site_zone_realloc(p);
  site_refused(p);
  p = site_to_nothing(p);
  free(p);
  free(site_from_nothing());
  free(NULL);
  site_batch();
  malloc_zone_free(g_zone, site_zone_memalign());
}

static void* work(void* unused) {
  for (unsigned long i = 0; i < g_rounds; ++i) {
    one_round();
    if (i % 64 == 0) keep_valloc();
  }
  return unused;
}

static unsigned long number_of(const char* text) {
  unsigned long number = 0;
  for (; *text != '\0'; ++text) number = number * 10 + (unsigned long)(*text - '0');
  return number;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned long threads = number_of(argv[1]);
  g_rounds = number_of(argv[2]);
  g_zone = malloc_create_zone(0, 0);
  malloc_set_zone_name(g_zone, "textures");
  pthread_t ids[64];
  for (unsigned long i = 0; i < threads && i < 64; ++i) pthread_create(&ids[i], NULL, work, NULL);
  for (unsigned long i = 0; i < threads && i < 64; ++i) pthread_join(ids[i], NULL);
  const unsigned long n = threads * g_rounds;
  const struct {
    const char* name;
    unsigned long size, all, is_kept;
  } sites[] = {{"keep_malloc", 101, n, 1},
               {"keep_calloc", 159, n, 1},
               {"keep_aligned", 256, n, 1},
               {"keep_posix_memalign", 131, n, 1},
               {"keep_zone", 77, n, 1},
               {"keep_zone_calloc", 77, n, 1},
               {"keep_typed", 307, n, 1},
               {"keep_nothing", 0, n, 1},
               {"keep_valloc", 211, threads * ((g_rounds + 63) / 64), 1},
               {"site_small", 40, n, 0},
               {"site_realloc", 700, n, 0},
               {"site_in_place", 690, n, 0},
               {"site_reallocf", 1500, n, 0},
               {"site_typed_realloc", 3300, n, 0},
               {"site_zone_realloc", 7000, n, 0},
               {"site_to_nothing", 0, n, 0},
               {"site_from_nothing", 19, n, 0},
               {"site_refused", 0, 0, 0},
               {"site_batch", 24, 8 * n, 0},
               {"site_zone_memalign", 500, n, 0}};
  for (unsigned i = 0; i < sizeof(sites) / sizeof(*sites); ++i) {
    const unsigned long live = sites[i].is_kept ? sites[i].all : 0;
    say_truth(sites[i].name, live, live * sites[i].size, sites[i].all, sites[i].all * sites[i].size);
  }
  if (argc > 3) kill(getpid(), SIGKILL);
  return 42;
}
