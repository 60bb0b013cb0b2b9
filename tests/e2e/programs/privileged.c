// SPDX-License-Identifier: Apache-2.0
// Profiles itself by the API and says what memprof has here: its file, and what the process passes on.
#include <sys/auxv.h>

#include "memprof.h"
#include "truth.h"

int main(void) {
  memprof_options options;
  memprof_options_init(&options, sizeof(options));
  if (memprof_init(&options) != MEMPROF_OK || memprof_init(NULL) != MEMPROF_OK) die("memprof_init");
  if (memprof_start() != MEMPROF_OK && memprof_start() != MEMPROF_ERR_STATE) die("memprof_start");
  free(keep(malloc(opaque(1 << 20))));
  memprof_stats stats = {.struct_size = sizeof(stats)};
  if (memprof_get_stats(&stats) != MEMPROF_OK) die("memprof_get_stats");
  printf("secure %lu\nstate %u\n", getauxval(AT_SECURE), stats.state);
  char line[8192];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    if (strstr(line, ".arena") != NULL) printf("file %s", line);
  }
  extern char** environ;
  for (char** entry = environ; *entry != NULL; ++entry) {
    if (strncmp(*entry, "MEMPROF_", 8) == 0) printf("passed on %s\n", *entry);
  }
  return 0;
}
