// SPDX-License-Identifier: Apache-2.0
// What a heap holds by the profiler, for programs/own_allocator.c.
#pragma once

#include <errno.h>

#include "memprof.h"
#include "truth.h"

static int g_failures;

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      ++g_failures;                                                                               \
    }                                                                                             \
  } while (0)

// Each check runs with the functions, and with their inline forms.
struct way {
  void (*alloc)(const void*, size_t, memprof_heap_id);
  void (*free)(const void*);
  void (*realloc)(const void*, const void*, size_t, memprof_heap_id);
};
static struct way g_way;

static void inline_alloc(const void* block, size_t size, memprof_heap_id heap) {
  memprof_report_alloc_inline(block, size, heap);
}
static void inline_free(const void* block) {
  memprof_report_free_inline(block);
}
static void inline_realloc(const void* old_block, const void* block, size_t size, memprof_heap_id heap) {
  memprof_report_realloc_inline(old_block, block, size, heap);
}

static void start(void) {
  memprof_options options;
  CHECK(memprof_options_init(&options, sizeof(options)) == MEMPROF_OK);
  options.rate_bytes = 0;
  CHECK(memprof_init(&options) == MEMPROF_OK);
  CHECK(memprof_start() == MEMPROF_OK);
}

static memprof_stats stats(void) {
  memprof_stats s = {0};
  s.struct_size = sizeof(s);
  CHECK(memprof_get_stats(&s) == MEMPROF_OK);
  return s;
}

static memprof_heap_id heap_named(const char* name) {
  memprof_heap_id heap = 77;
  CHECK(memprof_heap_register(name, &heap) == MEMPROF_OK);
  CHECK(heap != 0 && heap <= MEMPROF_MAX_HEAPS);
  return heap;
}

struct held {
  uint64_t blocks, bytes, stacks, allocated_blocks, allocated_bytes;
};

// What the heap of this name holds; "": of all that has no heap, only what lies in g_memory.
static char g_memory[1 << 16];

static struct held holds(const char* name) {
  struct held held = {0, 0, 0, 0, 0};
  memprof_snapshot* snapshot = NULL;
  CHECK(memprof_get_snapshot(&snapshot) == MEMPROF_OK);
  uint64_t records_count, stacks_count, heaps_count, stack_heaps_count;
  const memprof_record* records = memprof_snapshot_records(snapshot, &records_count);
  const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, &stacks_count);
  const memprof_heap* heaps = memprof_snapshot_heaps(snapshot, &heaps_count);
  const uint32_t* heap_of = memprof_snapshot_stack_heaps(snapshot, &stack_heaps_count);
  const char* strings = memprof_snapshot_strings(snapshot, NULL);
  CHECK(stack_heaps_count == stacks_count && heaps_count >= 1 && heaps[0].name_offset == 0);
  for (uint64_t i = 0; i < records_count; ++i) {
    CHECK(heap_of[records[i].stack_id] < heaps_count);
    if (strcmp(strings + heaps[heap_of[records[i].stack_id]].name_offset, name) != 0) continue;
    if (name[0] == '\0' && records[i].address - (uintptr_t)g_memory >= sizeof(g_memory)) continue;
    ++held.blocks;
    held.bytes += records[i].size_bytes;
  }
  for (uint64_t i = 0; i < stacks_count; ++i) {
    if (strcmp(strings + heaps[heap_of[i]].name_offset, name) != 0) continue;
    ++held.stacks;
    held.allocated_blocks += stacks[i].allocated.samples;
    held.allocated_bytes += stacks[i].allocated.size_bytes;
  }
  memprof_free_snapshot(snapshot);
  return held;
}

#define CHECK_HOLDS(name, expected_blocks, expected_bytes)                                   \
  do {                                                                                       \
    const struct held h = holds(name);                                                       \
    if (h.blocks != (expected_blocks) || h.bytes != (expected_bytes)) {                      \
      fprintf(stderr, "%s:%d: %s holds %llu blocks, %llu bytes\n", __FILE__, __LINE__, name, \
              (unsigned long long)h.blocks, (unsigned long long)h.bytes);                    \
      ++g_failures;                                                                          \
    }                                                                                        \
  } while (0)
