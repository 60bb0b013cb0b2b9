// SPDX-License-Identifier: Apache-2.0
// The life of a library that is loaded at run time, from C: init, start, snapshot, stop, start again, unload.
// Arguments: the library, and the file that a profile is written to.
#include <dlfcn.h>

#include "memprof.h"
#include "truth.h"

static void* g_library;
#define CALL(name, type) ((type)dlsym(g_library, #name))

SITE void* allocate(void) {
  return keep(malloc(opaque(1009)));
}

static void expect(const char* what, long found, long wanted) {
  if (found != wanted) {
    fprintf(stderr, "%s: %ld, not %ld\n", what, found, wanted);
    exit(1);
  }
}

static uint64_t live(void) {
  memprof_stats s = {.struct_size = sizeof(s)};
  expect("get_stats", CALL(memprof_get_stats, int (*)(memprof_stats*))(&s), MEMPROF_OK);
  return s.live_samples;
}

int main(int argc, char** argv) {
  if (argc < 3) die("which library, and which file?");
  void* before = allocate();
  g_library = dlopen(argv[1], RTLD_LAZY);
  if (g_library == NULL) die(dlerror());
  memprof_options options = {.struct_size = sizeof(options)};
  expect("init", CALL(memprof_init, int (*)(const memprof_options*))(&options), MEMPROF_OK);
  expect("start", CALL(memprof_start, int (*)(void))(), MEMPROF_OK);
  expect("second start", CALL(memprof_start, int (*)(void))(), MEMPROF_ERR_STATE);
  void* block = allocate();
  expect("live", live(), 1);
  free(before);
  expect("live after a block from before", live(), 1);
  memprof_snapshot* snapshot = NULL;
  expect("snapshot", CALL(memprof_get_snapshot, int (*)(memprof_snapshot**))(&snapshot), MEMPROF_OK);
  uint64_t count = 0;
  CALL(memprof_snapshot_records, const memprof_record* (*)(const memprof_snapshot*, uint64_t*))(snapshot,
                                                                                                &count);
  expect("records", (long)count, 1);
  expect("stop", CALL(memprof_stop, int (*)(void))(), MEMPROF_OK);
  void* between = allocate();
  expect("live while stopped", live(), 1);
  free(block);
  expect("live after a free while stopped", live(), 0);
  expect("start again", CALL(memprof_start, int (*)(void))(), MEMPROF_OK);
  free(between);
  void* last = allocate();
  expect("live after the second start", live(), 1);
  // It stays loaded, because hooks point into it.
  for (int i = 0; i < 3; ++i) expect("dlclose", dlclose(g_library), 0);
  void* again = allocate();
  g_library = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD);
  if (g_library == NULL) die("it was unloaded");
  expect("live after dlclose", live(), 2);
  free(again);
  CALL(memprof_free_snapshot, void (*)(memprof_snapshot*))(snapshot);
  expect("write", CALL(memprof_write_profile, int (*)(const char*, uint32_t))(argv[2], 0), MEMPROF_OK);
  free(last);
  // 5 blocks, of which the one before and the one between are not in the profile.
  tell("allocate", "main", 3, 3 * 1009, 1, 1009);
  return 0;
}
