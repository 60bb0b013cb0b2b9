// SPDX-License-Identifier: Apache-2.0
// Checks of the functions by which allocators report themselves: own_allocator NAME runs one (each in a
// process of its own), own_allocator --list names them.  At rate 0: every block has a record.
//
// Built with the library as optional (for LD_PRELOAD), linked to libmemprof.so, with libmemprof.a linked
// whole, and as a library that a program without it loads; linked also with MEMPROF_ABI1_BY_ADDRESS.
#include <errno.h>

#include "memprof.h"
#include "own_allocator_heaps.h"
#include "own_allocator_processes.h"
#include "truth.h"

static void check_alloc_and_free(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 100, heap);
  g_way.alloc(g_memory + 100, 7, heap);  // not aligned
  CHECK_HOLDS("pool:a", 2, 107);
  CHECK(stats().live_samples >= 2);
  g_way.free(g_memory + 100);
  CHECK_HOLDS("pool:a", 1, 100);
  g_way.free(g_memory);
  CHECK_HOLDS("pool:a", 0, 0);
  CHECK(holds("pool:a").allocated_bytes == 107);
}

SITE void same_stack(memprof_heap_id heap, char* block) {
  g_way.alloc(block, 10, heap);
}

static void check_two_heaps_of_one_stack(void) {
  start();
  const memprof_heap_id heaps[] = {heap_named("pool:a"), heap_named("pool:b"), 0};
  for (int i = 0; i < 6; ++i) same_stack(heaps[i % 3], g_memory + 16 * i);
  CHECK_HOLDS("pool:a", 2, 20);
  CHECK_HOLDS("pool:b", 2, 20);
  CHECK_HOLDS("", 2, 20);
  CHECK(holds("pool:a").stacks == 1 && holds("pool:b").stacks == 1);
}

static void check_names(void) {
  memprof_heap_id heap = 5;
  char name[MEMPROF_MAX_HEAP_NAME_BYTES + 2];
  memset(name, 'x', sizeof(name));
  name[MEMPROF_MAX_HEAP_NAME_BYTES + 1] = '\0';
  CHECK(memprof_heap_register(name, &heap) == MEMPROF_ERR_INVALID && heap == 0);
  name[MEMPROF_MAX_HEAP_NAME_BYTES] = '\0';
  CHECK(memprof_heap_register(name, &heap) == MEMPROF_OK && heap == 1);
  name[0] = 'y';  // it is copied
  CHECK(memprof_heap_register(name, &heap) == MEMPROF_OK && heap == 2);
  CHECK(memprof_heap_register("", &heap) == MEMPROF_ERR_INVALID);
  CHECK(memprof_heap_register("a\nb", &heap) == MEMPROF_ERR_INVALID);
  CHECK(memprof_heap_register(NULL, &heap) == MEMPROF_ERR_INVALID);
  CHECK(memprof_heap_register("a", NULL) == MEMPROF_ERR_INVALID);
  CHECK(heap_named("a") == heap_named("a"));
  start();
  CHECK(heap_named("a") == 3);
  CHECK(heap_named("b") == 4);  // after init
  g_way.alloc(g_memory, 1, 3);
  g_way.alloc(g_memory + 1, 1, 4);
  CHECK_HOLDS("a", 1, 1);
  CHECK_HOLDS("b", 1, 1);
  for (int i = 4; i < MEMPROF_MAX_HEAPS; ++i) {
    snprintf(name, sizeof(name), "%d", i);
    CHECK(heap_named(name) == (memprof_heap_id)i + 1);
  }
  CHECK(memprof_heap_register("one more", &heap) == 0 && heap == MEMPROF_MAX_HEAPS);
  CHECK(strlen(memprof_strerror(MEMPROF_ERR_LIMIT)) > 10);
  CHECK(heap_named("b") == 4);
  g_way.alloc(g_memory + 2, 1, MEMPROF_MAX_HEAPS);
  CHECK_HOLDS("[other heaps]", 1, 1);
}

static void check_unknown_heap(void) {
  start();
  g_way.alloc(g_memory, 30, 9);
  g_way.alloc(g_memory + 32, 30, UINT32_MAX);
  CHECK_HOLDS("", 2, 60);
}

static void check_nothing(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  const memprof_stats before = stats();
  g_way.alloc(NULL, 100, heap);
  g_way.free(NULL);
  g_way.free(g_memory);
  g_way.realloc(NULL, NULL, 10, heap);
  memprof_report_free_range(g_memory, sizeof(g_memory));
  memprof_report_free_range(g_memory, 0);
  memprof_report_free_range((void*)UINTPTR_MAX, SIZE_MAX);
  memprof_report_backing(NULL);
  memprof_report_backing(g_memory);
  CHECK(memprof_report_realloc_begin(NULL) == 0 && memprof_report_realloc_begin(g_memory) == 0);
  CHECK(stats().samples == before.samples && stats().live_samples == before.live_samples);
  g_way.alloc(g_memory, 0, heap);
  CHECK_HOLDS("pool:a", 1, 0);
  g_way.free(g_memory);
  CHECK_HOLDS("pool:a", 0, 0);
}

static void check_reported_twice(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 10, heap);
  g_way.alloc(g_memory, 20, heap);
  CHECK_HOLDS("pool:a", 1, 20);
  CHECK(stats().replaced_samples == 1);
  g_way.free(g_memory);
  g_way.free(g_memory);
  CHECK_HOLDS("pool:a", 0, 0);
}

static void check_realloc(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.realloc(NULL, g_memory, 10, heap);
  CHECK_HOLDS("pool:a", 1, 10);
  g_way.realloc(g_memory, g_memory, 20, heap);  // in place
  CHECK_HOLDS("pool:a", 1, 20);
  g_way.realloc(g_memory, g_memory + 64, 30, heap);  // moves
  CHECK_HOLDS("pool:a", 1, 30);
  g_way.realloc(g_memory + 64, NULL, 40, heap);  // fails
  CHECK_HOLDS("pool:a", 1, 30);
  g_way.realloc(g_memory + 64, NULL, 0, heap);  // frees
  CHECK_HOLDS("pool:a", 0, 0);
  g_way.alloc(g_memory, 50, heap);
  g_way.realloc(g_memory, g_memory + 64, 0, heap);  // to a block of no bytes
  CHECK_HOLDS("pool:a", 1, 0);
  CHECK(holds("pool:a").allocated_bytes == 10 + 20 + 30 + 50);
  CHECK(stats().replaced_samples == 0);
}

static void check_realloc_in_two_steps(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 10, heap);
  uint64_t token = memprof_report_realloc_begin(g_memory);
  CHECK(token != 0);
  memprof_report_realloc_end(token, g_memory, NULL, 20, heap);  // fails
  CHECK_HOLDS("pool:a", 1, 10);
  token = memprof_report_realloc_begin(g_memory);
  // Another thread gets the old memory before this one reports that it moved.
  g_way.free(g_memory);
  g_way.alloc(g_memory, 11, heap);
  memprof_report_realloc_end(token, g_memory, g_memory + 64, 20, heap);
  CHECK_HOLDS("pool:a", 2, 31);
  token = memprof_report_realloc_begin(g_memory + 64);
  memprof_report_realloc_end(token, g_memory + 64, g_memory + 64, 5, heap);
  CHECK_HOLDS("pool:a", 2, 16);
  memprof_report_realloc_end(memprof_report_realloc_begin(NULL), NULL, g_memory + 128, 1, heap);
  CHECK_HOLDS("pool:a", 3, 17);
}

static void check_first_block_at_the_chunks_start(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  const memprof_stats before = stats();
  char* chunk = keep(malloc(opaque(4096)));
  CHECK(stats().live_samples == before.live_samples + 1);
  g_way.alloc(chunk, 10, heap);
  CHECK(stats().live_samples == before.live_samples + 2);  // nobody said that it is a chunk
  g_way.free(chunk);
  CHECK_HOLDS("pool:a", 0, 0);
  CHECK(stats().live_samples == before.live_samples + 1);  // it was the block's record that went
  memprof_report_backing(chunk);
  CHECK(stats().live_samples == before.live_samples);
  g_way.alloc(chunk, 10, heap);
  free(chunk);  // wrong: a block is in it; its record stays its own
  CHECK_HOLDS("pool:a", 1, 10);
  CHECK(stats().replaced_samples == 0);
}

static void check_backing_is_not_recorded(void) {
  start();
  const memprof_stats before = stats();
  memprof_backing_begin();
  memprof_backing_begin();
  void* chunk = keep(malloc(opaque(1 << 20)));
  memprof_backing_end();
  void* second = keep(realloc(keep(malloc(opaque(10))), opaque(20)));
  g_way.alloc(g_memory, 1, 0);
  memprof_backing_end();
  memprof_backing_end();  // one too many
  CHECK(stats().samples == before.samples);
  void* block = keep(malloc(opaque(10)));
  CHECK(stats().samples == before.samples + 1);
  memprof_backing_begin();
  free(block);  // frees are followed
  memprof_backing_end();
  CHECK(stats().live_samples == before.live_samples);
  free(second);
  free(chunk);
  CHECK(stats().live_samples == before.live_samples);
}

static void check_free_range(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  char* inside = keep(malloc(opaque(64)));
  const uint64_t before = stats().live_samples;
  for (int i = 0; i < 4096; ++i) g_way.alloc(g_memory + 13 * i, 13, heap);
  memprof_report_free_range(g_memory + 13, 13 * 10);  // a few: asked one by one
  CHECK_HOLDS("pool:a", 4086, 4086 * 13);
  memprof_report_free_range(g_memory + 13 * 11 + 1, 13);  // the next begins inside, this one does not
  CHECK_HOLDS("pool:a", 4085, 4085 * 13);
  memprof_report_free_range(g_memory, sizeof(g_memory));  // many: the whole map is read
  CHECK_HOLDS("pool:a", 0, 0);
  memprof_report_free_range(inside, 64);
  CHECK(stats().live_samples == before);  // what malloc gave stays
  free(inside);
  CHECK(stats().live_samples == before - 1);
}

static void use_everything(memprof_heap_id heap) {
  g_way.alloc(g_memory, 10, heap);
  g_way.realloc(g_memory, g_memory + 64, 20, heap);
  memprof_report_realloc_end(memprof_report_realloc_begin(g_memory + 64), g_memory + 64, g_memory, 5, heap);
  g_way.free(g_memory);
  g_way.alloc(g_memory, 10, heap);
  memprof_report_free_range(g_memory, sizeof(g_memory));
  memprof_report_backing(g_memory);
  memprof_backing_begin();
  memprof_backing_end();
}

static void check_in_every_state(void) {
  use_everything(0);
  const memprof_heap_id heap = heap_named("pool:a");
  use_everything(heap);
  CHECK(memprof_init(NULL) == MEMPROF_OK);
  CHECK(memprof_set_rate(0) == MEMPROF_OK);
  use_everything(heap);
  CHECK(stats().samples == 0);
  CHECK(memprof_start() == MEMPROF_OK);
  use_everything(heap);
  CHECK(holds("pool:a").allocated_blocks == 4);
  g_way.alloc(g_memory + 1000, 10, heap);
  CHECK(memprof_stop() == MEMPROF_OK);
  use_everything(heap);
  CHECK(holds("pool:a").allocated_blocks == 5);
  CHECK_HOLDS("pool:a", 0, 0);  // frees are followed
  CHECK(memprof_shutdown() == MEMPROF_OK);
  use_everything(heap);
  CHECK(holds("pool:a").allocated_blocks == 5);
}

static void check_errno_is_kept(void) {
  start();
  errno = 4711;
  use_everything(heap_named("pool:a"));
  CHECK(errno == 4711);
}

SITE void allocator_of_a_site(memprof_heap_id heap) {
  g_way.alloc(g_memory, 10, heap);
}

static void check_the_leaf_is_the_allocator(void) {
  start();
  allocator_of_a_site(heap_named("pool:a"));
  memprof_snapshot* snapshot = NULL;
  CHECK(memprof_get_snapshot(&snapshot) == MEMPROF_OK);
  const uint64_t* frames = memprof_snapshot_frames(snapshot, NULL);
  uint64_t count;
  const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, &count);
  const uint32_t* heaps = memprof_snapshot_stack_heaps(snapshot, NULL);
  int found = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (heaps[i] == 0) continue;
    // In between may be the inline form, which is a function where it was not inlined, and what calls it
    // here.
    for (uint32_t k = 0; k < 3 && k < stacks[i].frame_count; ++k) {
      found = found || frames[stacks[i].first_frame + k] - (uintptr_t)allocator_of_a_site < 200;
    }
    CHECK(stacks[i].walk == MEMPROF_WALK_ROOT);
  }
  CHECK(found);
  memprof_free_snapshot(snapshot);
}

static const struct {
  const char* name;
  void (*run)(void);
} kChecks[] = {
    {"alloc_and_free", check_alloc_and_free},
    {"two_heaps_of_one_stack", check_two_heaps_of_one_stack},
    {"names", check_names},
    {"unknown_heap", check_unknown_heap},
    {"nothing", check_nothing},
    {"reported_twice", check_reported_twice},
    {"realloc", check_realloc},
    {"realloc_in_two_steps", check_realloc_in_two_steps},
    {"first_block_at_the_chunks_start", check_first_block_at_the_chunks_start},
    {"backing_is_not_recorded", check_backing_is_not_recorded},
    {"free_range", check_free_range},
    {"freed_by_another_thread", check_freed_by_another_thread},
    {"in_a_signal_handler", check_in_a_signal_handler},
    {"in_a_fork_child", check_in_a_fork_child},
    {"in_a_followed_fork_child", check_in_a_followed_fork_child},
    {"in_every_state", check_in_every_state},
    {"errno_is_kept", check_errno_is_kept},
    {"the_leaf_is_the_allocator", check_the_leaf_is_the_allocator},
};
enum { kCount = sizeof(kChecks) / sizeof(kChecks[0]) };

// NAME, or NAME:inline for the same with the inline forms.
int run_check(const char* name);
int run_check(const char* name) {
  const size_t length = strcspn(name, ":");
  const struct way functions = {memprof_report_alloc, memprof_report_free, memprof_report_realloc};
  const struct way forms = {inline_alloc, inline_free, inline_realloc};
  g_way = name[length] == ':' ? forms : functions;
  for (int i = 0; i < kCount; ++i) {
    if (strlen(kChecks[i].name) == length && strncmp(kChecks[i].name, name, length) == 0) {
      kChecks[i].run();
      return g_failures != 0;
    }
  }
  fprintf(stderr, "no check %s\n", name);
  return 2;
}

int main(int argc, char** argv) {
  if (argc != 2) die("usage: own_allocator --list | CHECK");
  if (strcmp(argv[1], "--list") != 0) return run_check(argv[1]);
  for (int i = 0; i < kCount; ++i) printf("%s %s:inline\n", kChecks[i].name, kChecks[i].name);
  return 0;
}
