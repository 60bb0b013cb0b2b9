// SPDX-License-Identifier: Apache-2.0
// Exports a variable of the name of the library's count: the library's allocations go by its own.
#include <dlfcn.h>

#include "truth.h"

__thread uint64_t memprof_abi1_count = 7;

static void check(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "own_count: %s\n", what);
    exit(1);
  }
}

int main(void) {
  uint64_t* (*thread_count)(void) = (uint64_t* (*)(void))dlsym(RTLD_DEFAULT, "memprof_abi1_thread_count");
  check(thread_count != NULL, "the library is not here");
  check(dlsym(RTLD_DEFAULT, "memprof_abi1_count") == &memprof_abi1_count,
        "the program's variable is not exported");
  uint64_t* const count = thread_count();
  check(count != &memprof_abi1_count, "the library's count is the program's variable");
  free(keep(malloc(1)));  // the thread has a clock
  const uint64_t before = *count;
  free(keep(malloc(opaque(10))));
  check(*count == before - 10, "the library does not count by its own");
  check(memprof_abi1_count == 7, "the library counts by the program's variable");
  return 0;
}
