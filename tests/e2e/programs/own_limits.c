// SPDX-License-Identifier: Apache-2.0
// A program that limits itself once it runs, and then needs what it allowed itself.
//
//   address-space MIB   RLIMIT_AS
//   lock MIB            mlockall of what there is and will be; RLIMIT_MEMLOCK then
// Then 40 blocks of 1 MiB, and many small ones.
#include <sys/mman.h>
#include <sys/resource.h>

#include "truth.h"

enum { kBlocks = 40, kSmall = 2000 };

static void* g_blocks[kBlocks];
static void* g_small[kSmall];

SITE void* limited_block(void) {
  return malloc(opaque(1 << 20));
}
SITE void* limited_small(size_t i) {
  return malloc(opaque(100 + i % 50));
}

static void limit(int resource, const char* mib) {
  const rlim_t max = (rlim_t)atol(mib) << 20;
  const struct rlimit limits = {max, max};
  if (setrlimit(resource, &limits) != 0) die("setrlimit");
}

static long status_kib(const char* name) {
  char line[256];
  long kib = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kib = atol(line + strlen(name) + 1);
  }
  if (f != NULL) fclose(f);
  return kib;
}

int main(int argc, char** argv) {
  if (argc != 3) die("usage");
  if (strcmp(argv[1], "address-space") == 0) {
    limit(RLIMIT_AS, argv[2]);
  } else if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    printf("not allowed\n");
    return 7;
  } else {
    limit(RLIMIT_MEMLOCK, argv[2]);
  }
  int had = 0;
  while (had < kBlocks && (g_blocks[had] = limited_block()) != NULL) memset(g_blocks[had++], 1, 1 << 20);
  int small = 0;
  while (small < kSmall && (g_small[small] = limited_small((size_t)small)) != NULL) ++small;
  printf("%d blocks, %d small\n", had, small);
  fprintf(stderr, "VmSize %ld VmLck %ld\n", status_kib("VmSize"), status_kib("VmLck"));
  return 7;
}
