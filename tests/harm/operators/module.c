// SPDX-License-Identifier: Apache-2.0
// In each module: its name (the macro MODULE), and a pool of its own.
#include "operators.h"

const char op_module[] = MODULE;

static char pool[1 << 20] __attribute__((aligned(4096)));
static size_t used;

void* op_pool_allocate(size_t size, size_t alignment) {
  const size_t start = (used + 64 + alignment - 1) & ~(alignment - 1);
  if (size > sizeof pool - start) return NULL;
  used = start + size;
  return pool + start;
}

int op_pool_has(const void* block) {
  return (const char*)block >= pool && (const char*)block < pool + sizeof pool;
}
