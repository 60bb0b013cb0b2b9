// SPDX-License-Identifier: Apache-2.0
// Preloaded behind memprof: has it count runs of garbage collectors, and says at the end of the process how many there were.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t (*g_epoch)(void);

__attribute__((constructor)) static void begin(void) {
  int (*enable)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "memprof_enable_gc_tracking");
  g_epoch = (uint64_t (*)(void))dlsym(RTLD_DEFAULT, "memprof_get_gc_epoch");
  fprintf(stderr, "enabled %d, epoch %d\n", enable(), (int)g_epoch());
}

__attribute__((destructor)) static void end(void) {
  fprintf(stderr, "epoch %d\n", (int)g_epoch());
}
