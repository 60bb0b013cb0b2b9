// SPDX-License-Identifier: Apache-2.0
// For threads of a Python that ends (called by ctypes, without the GIL): one function allocates for ever, the
// other gets the memory that the interpreter's end has freed, and fills it with addresses where nothing is.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

void allocate_for_ever(void) {
  for (;;) {
    void* volatile block = malloc(3000);
    free(block);
  }
}

void reuse_freed_memory(void) {
  for (size_t size = 128; size < 4096; size += 16) {
    for (int i = 0; i < 40; ++i) {
      uint64_t* block = malloc(size);
      for (size_t word = 0; word < size / sizeof(*block); ++word) {
        block[word] = 0x500000000000 + 8 * word;
      }
    }
  }
  usleep(100000);  // the threads allocate meanwhile
}
