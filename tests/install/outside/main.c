/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program that is linked with memprof and profiles itself, every allocation. It says "ok" and what it
 * saw, or what went wrong and exits 1. */
#include <memprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 100, kBlockBytes = 12345 };

static int fail(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, memprof_strerror(error));
  return 1;
}

int main(int argc, char** argv) {
  void* blocks[kBlocks];
  memprof_options options;
  memprof_snapshot* snapshot = NULL;
  int error = memprof_options_init(&options, sizeof options);
  options.rate_bytes = 0;
  if (error == MEMPROF_OK) error = memprof_init(&options);
  if (error != MEMPROF_OK) return fail("init", error);
  error = memprof_start();
  if (error != MEMPROF_OK) return fail("start", error);
  /* The address of malloc is taken: in a program that is not position-independent it is not where malloc is.
   */
  void* (*volatile allocate)(size_t) = malloc;
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = i % 2 == 0 ? malloc(kBlockBytes) : allocate(kBlockBytes);
    if (blocks[i] == NULL) return 1;
    memset(blocks[i], i, kBlockBytes);
  }
  error = memprof_get_snapshot(&snapshot);
  if (error != MEMPROF_OK) return fail("snapshot", error);
  uint64_t count = 0;
  uint64_t seen = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  for (uint64_t i = 0; i < count; ++i) seen += records[i].size_bytes == kBlockBytes;
  memprof_free_snapshot(snapshot);
  if (seen != kBlocks) {
    fprintf(stderr, "%llu of %d blocks seen\n", (unsigned long long)seen, kBlocks);
    return 1;
  }
  error = memprof_write_profile(argc > 1 ? argv[1] : "outside.pb", MEMPROF_WRITE_OVERWRITE);
  if (error != MEMPROF_OK) return fail("write", error);
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  error = memprof_stop();
  if (error != MEMPROF_OK) return fail("stop", error);
  printf("ok %s\n", memprof_version());
  return 0;
}
