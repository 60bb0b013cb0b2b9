// SPDX-License-Identifier: Apache-2.0
// Allocates many blocks of known sizes and keeps a part of them: the truth that estimates must lie around.
// Sizes from far below the sampling rate to far above it. Arguments: NAME... of the sites to run.
#include "truth.h"

#define SITE_OF(name, size)            \
  SITE void* name(void) {              \
    return keep(malloc(opaque(size))); \
  }

SITE_OF(site_16, 16)
SITE_OF(site_1000, 1000)
SITE_OF(site_65536, 65536)
SITE_OF(site_1m, 1048576)

// One stack, two sizes that differ a million times (lesson 15).
SITE void* site_mixed(size_t size) {
  return keep(malloc(size));
}

static void* volatile g_sink;

SITE void run(const char* name, void* (*site)(void), uint64_t size, uint64_t blocks, uint64_t live) {
  for (uint64_t i = 0; i < blocks; ++i) {
    g_sink = site();
    if (i >= live) free(g_sink);
  }
  tell(name, "run<main", blocks, blocks * size, live, live * size);
}

int main(void) {
  run("site_16", site_16, 16, 2000000, 400000);
  run("site_1000", site_1000, 1000, 100000, 20000);
  run("site_65536", site_65536, 65536, 3000, 1500);
  run("site_1m", site_1m, 1048576, 200, 20);
  for (int i = 0; i < 2000000; ++i) free(site_mixed(opaque(16)));
  for (int i = 0; i < 16; ++i) free(site_mixed(opaque(32 << 20)));
  tell("site_mixed", "main", 2000000 + 16, 2000000ull * 16 + 16ull * (32 << 20), 0, 0);
  return 0;
}
