/* SPDX-License-Identifier: Apache-2.0
 *
 * Two allocators in C that report themselves: an arena, which frees everything at once, and a pool of nodes
 * of one size.  Both take their memory from malloc, in chunks, which must not be counted beside what is made
 * of them; the arena asks for it in a way that is not recorded, the pool says afterwards what its chunks are.
 *
 *     cc -O2 -fPIE -DMEMPROF_OPTIONAL -o pool pool.c && memprof run -r 4k -o pool.pb.gz -- ./pool
 *     memprof report pool.pb.gz --by heap
 *
 * or, linked with the library, without -DMEMPROF_OPTIONAL.
 */
#include <stdlib.h>
#include <string.h>

#include "memprof.h"
#include "truth.h"

/* Where the library is optional, its functions may be absent. */
#ifdef MEMPROF_OPTIONAL
#define HAS(function) ((function) != NULL)
#else
#define HAS(function) 1
#endif

static memprof_heap_id heap_named(const char* name) {
  memprof_heap_id heap = 0;
  if (HAS(memprof_heap_register)) {
    (void)memprof_heap_register(name, &heap); /* after an error it is 0: a heap without a name */
  }
  return heap;
}

/* ---- An arena: blocks one behind the other, all freed together --------------------------------------------
 */

enum { kChunkBytes = 256 * 1024, kArenaChunks = 64 };

struct arena {
  char* chunks[kArenaChunks];
  int chunk;
  size_t used;
  memprof_heap_id heap;
};

static char* new_arena_chunk(void) {
  if (HAS(memprof_backing_begin)) {
    memprof_backing_begin();
  }
  char* chunk = malloc(kChunkBytes);
  if (HAS(memprof_backing_end)) {
    memprof_backing_end();
  }
  if (chunk == NULL) {
    abort();
  }
  return chunk;
}

static void* arena_alloc(struct arena* a, size_t size) {
  const size_t rounded = (size + 15) & ~(size_t)15;
  if (a->used + rounded > kChunkBytes) {
    ++a->chunk;
    a->used = 0;
  }
  if (a->chunk == kArenaChunks || rounded > kChunkBytes) {
    abort(); /* an example: a real arena would say so */
  }
  if (a->chunks[a->chunk] == NULL) {
    a->chunks[a->chunk] = new_arena_chunk();
  }
  void* block = a->chunks[a->chunk] + a->used;
  a->used += rounded;
  memprof_report_alloc_inline(block, size, a->heap);
  return block;
}

static void arena_reset(struct arena* a) {
  for (int i = 0; i <= a->chunk && i < kArenaChunks; ++i) {
    if (a->chunks[i] != NULL && HAS(memprof_report_free_range)) {
      memprof_report_free_range(a->chunks[i], kChunkBytes);
    }
  }
  a->chunk = 0;
  a->used = 0;
}

static void arena_destroy(struct arena* a) {
  arena_reset(a);
  for (int i = 0; i < kArenaChunks; ++i) {
    free(a->chunks[i]);
    a->chunks[i] = NULL;
  }
}

/* ---- A pool: nodes of one size, with a list of the free ones ----------------------------------------------
 */

enum { kNodeBytes = 96, kNodesInChunk = 512 };

struct pool {
  void* free_nodes;
  memprof_heap_id heap;
};

static void* pool_alloc(struct pool* p) {
  if (p->free_nodes == NULL) {
    char* chunk = calloc(kNodesInChunk, kNodeBytes);
    if (chunk == NULL) {
      abort();
    }
    if (HAS(memprof_report_backing)) {
      memprof_report_backing(chunk);
    }
    for (int i = 0; i < kNodesInChunk; ++i) {
      void* node = chunk + i * kNodeBytes;
      memcpy(node, &p->free_nodes, sizeof(void*));
      p->free_nodes = node;
    }
  }
  void* node = p->free_nodes;
  memcpy(&p->free_nodes, node, sizeof(void*));
  memprof_report_alloc_inline(node, kNodeBytes, p->heap);
  return node;
}

static void pool_free(struct pool* p, void* node) {
  memprof_report_free_inline(node); /* first: the next pool_alloc may hand it out */
  memcpy(node, &p->free_nodes, sizeof(void*));
  p->free_nodes = node;
}

/* ---- A program that uses them -----------------------------------------------------------------------------
 */

enum { kFrames = 60, kBlocksInFrame = 5000, kNodes = 40000 };

int main(void) {
  struct arena frame = {{0}, 0, 0, 0};
  struct pool nodes = {0, 0};
  struct truth in_frame = {0, 0, 0, 0};
  struct truth in_nodes = {0, 0, 0, 0};
  static void* kept[kNodes];
  uint32_t state = 1;
  frame.heap = heap_named("arena:frame");
  nodes.heap = heap_named("pool:node");
  for (int i = 0; i < kFrames; ++i) {
    arena_reset(&frame);
    in_frame.live_blocks = in_frame.live_bytes = 0;
    for (int k = 0; k < kBlocksInFrame; ++k) {
      const size_t size = 8 + next_random(&state) % 800;
      memset(arena_alloc(&frame, size), 0, size);
      truth_allocated(&in_frame, size);
    }
  }
  for (int i = 0; i < 5 * kNodes; ++i) {
    const uint32_t k = next_random(&state) % kNodes;
    if (kept[k] != NULL) {
      pool_free(&nodes, kept[k]);
      kept[k] = NULL;
      truth_freed(&in_nodes, kNodeBytes);
    } else {
      kept[k] = pool_alloc(&nodes);
      truth_allocated(&in_nodes, kNodeBytes);
    }
  }
  struct arena gone = {{0}, 0, 0, 0};
  struct truth in_gone = {0, 0, 0, 0};
  gone.heap = heap_named("arena:gone");
  for (int k = 0; k < kBlocksInFrame; ++k) {
    (void)arena_alloc(&gone, 100);
    truth_allocated(&in_gone, 100);
  }
  arena_destroy(&gone);
  in_gone.live_blocks = in_gone.live_bytes = 0;
  truth_print(&in_frame, "arena:frame");
  truth_print(&in_nodes, "pool:node");
  truth_print(&in_gone, "arena:gone");
  return 0; /* what is live now is in the profile that is written at the end */
}
