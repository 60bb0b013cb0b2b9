// SPDX-License-Identifier: Apache-2.0
// The executable uses a variable of a library, so that the loader gives it a copy, which the library uses,
// too.
#include "copied_variable.h"

#include <stdio.h>
#include <stdlib.h>

#include "memprof.h"
#include "truth.h"

int main(void) {
  memprof_options options;
  memprof_options_init(&options, sizeof(options));
  options.rate_bytes = 0;
  if (memprof_init(&options) != MEMPROF_OK || memprof_start() != MEMPROF_OK) die("memprof_start");
  void* block = keep(library_allocate(opaque(12345)));
  void* other = keep(variable_malloc(opaque(23456)));
  variable_free(other);
  memprof_stats stats = {.struct_size = sizeof(stats)};
  if (memprof_get_stats(&stats) != MEMPROF_OK) die("memprof_get_stats");
  printf("samples %llu live %llu\n", (unsigned long long)stats.samples,
         (unsigned long long)stats.live_samples);
  library_free(block);
  return 0;
}
