/* SPDX-License-Identifier: Apache-2.0
 *
 * A heap of mimalloc that reports itself, and that is destroyed with all that it holds.
 *
 *     cc -O2 -fPIE -DMEMPROF_OPTIONAL -o mimalloc mimalloc.c -lmimalloc
 *     memprof run -r 4k -o mimalloc.pb.gz -- ./mimalloc
 */
#include <mimalloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memprof.h"
#include "truth.h"

struct request_heap {
  mi_heap_t* blocks;
  memprof_heap_id heap;
};

static struct request_heap request_heap_new(const char* name) {
  struct request_heap h = {mi_heap_new(), 0};
  if (h.blocks == NULL) {
    abort();
  }
  if (memprof_heap_register != NULL) {
    (void)memprof_heap_register(name, &h.heap);
  }
  return h;
}

static void* request_alloc(const struct request_heap* h, size_t size) {
  void* block = mi_heap_malloc(h->blocks, size);
  memprof_report_alloc_inline(block, size, h->heap);
  return block;
}

static void request_free(void* block) {
  memprof_report_free_inline(block);
  mi_free(block);
}

static bool report_gone(const mi_heap_t* heap, const mi_heap_area_t* area, void* block, size_t block_size,
                        void* argument) {
  (void)heap, (void)area, (void)block_size, (void)argument;
  memprof_report_free_inline(block); /* NULL once for each area */
  return true;
}

static void request_heap_destroy(struct request_heap* h) {
  mi_heap_visit_blocks(h->blocks, true, report_gone, NULL);
  mi_heap_destroy(h->blocks);
}

enum { kRequests = 40, kBlocks = 2000 };

int main(void) {
  struct truth truth = {0, 0, 0, 0};
  uint32_t state = 3;
  for (int i = 0; i < kRequests; ++i) {
    struct request_heap heap = request_heap_new("mimalloc:request"); /* the same name: the same heap */
    const struct truth before = truth;
    for (int k = 0; k < kBlocks; ++k) {
      const size_t size = 1 + next_random(&state) % 4000;
      void* block = request_alloc(&heap, size);
      memset(block, 1, size);
      truth_allocated(&truth, size);
      if (k % 3 == 0) {
        request_free(block);
        truth_freed(&truth, size);
      }
    }
    if (i + 5 < kRequests) { /* the last five stay */
      request_heap_destroy(&heap);
      truth.live_blocks = before.live_blocks;
      truth.live_bytes = before.live_bytes;
    }
  }
  truth_print(&truth, "mimalloc:request");
  return 0;
}
