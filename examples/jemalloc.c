/* SPDX-License-Identifier: Apache-2.0
 *
 * jemalloc's own interface (mallocx and friends) with an arena of its own, which reports itself.  memprof
 * sees malloc; it does not see mallocx, whose memory comes from mmap, so nothing is counted twice.
 *
 *     cc -O2 -fPIE -DMEMPROF_OPTIONAL -o jemalloc jemalloc.c -ljemalloc
 *     memprof run -r 4k -o jemalloc.pb.gz -- ./jemalloc
 */
#include <jemalloc/jemalloc.h>
#include <stdlib.h>
#include <string.h>

#include "memprof.h"
#include "truth.h"

struct session_heap {
  int flags; /* for mallocx */
  memprof_heap_id heap;
};

static struct session_heap session_heap_new(const char* name) {
  struct session_heap h = {0, 0};
  unsigned arena = 0;
  size_t size = sizeof(arena);
  if (mallctl("arenas.create", &arena, &size, NULL, 0) != 0) {
    abort();
  }
  h.flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
  if (memprof_heap_register != NULL) {
    (void)memprof_heap_register(name, &h.heap);
  }
  return h;
}

static void* session_alloc(const struct session_heap* h, size_t size) {
  void* block = mallocx(size, h->flags);
  memprof_report_alloc_inline(block, size, h->heap);
  return block;
}

static void session_free(const struct session_heap* h, void* block) {
  memprof_report_free_inline(block);
  dallocx(block, h->flags);
}

/* rallocx frees the old block inside, where another thread may get it before this one reports: two steps. */
static void* session_realloc(const struct session_heap* h, void* old_block, size_t size) {
  const uint64_t token = memprof_report_realloc_begin != NULL ? memprof_report_realloc_begin(old_block) : 0;
  void* block = rallocx(old_block, size, h->flags);
  if (memprof_report_realloc_end != NULL) {
    memprof_report_realloc_end(token, old_block, block, size, h->heap);
  }
  return block;
}

enum { kSessions = 4000, kSteps = 60000 };

int main(void) {
  static void* blocks[kSessions];
  static size_t sizes[kSessions];
  struct truth truth = {0, 0, 0, 0};
  uint32_t state = 2;
  const struct session_heap heap = session_heap_new("jemalloc:session");
  for (int i = 0; i < kSteps; ++i) {
    const uint32_t k = next_random(&state) % kSessions;
    const size_t size = 16 + next_random(&state) % 3000;
    if (blocks[k] == NULL) {
      blocks[k] = session_alloc(&heap, size);
      sizes[k] = size;
      truth_allocated(&truth, size);
    } else if (next_random(&state) % 2 == 0) {
      session_free(&heap, blocks[k]);
      blocks[k] = NULL;
      truth_freed(&truth, sizes[k]);
    } else {
      blocks[k] = session_realloc(&heap, blocks[k], size);
      truth_freed(&truth, sizes[k]);
      truth_allocated(&truth, size);
      sizes[k] = size;
    }
    if (blocks[k] != NULL) {
      memset(blocks[k], 1, sizes[k]);
    }
  }
  truth_print(&truth, "jemalloc:session");
  return 0;
}
