// SPDX-License-Identifier: Apache-2.0
// Allocates from below a library without unwind tables.
#include <stdlib.h>

void no_tables_function(void (*call)(int), int depth);

__attribute__((noinline)) static void allocate(int n) {
  for (int i = 0; i < n; ++i) {
    void* volatile p = malloc(100);
    free(p);
  }
}

int main(void) {
  for (int i = 0; i < 50; ++i) {
    no_tables_function(allocate, i % 10);
  }
  return 0;
}
