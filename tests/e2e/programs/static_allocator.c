// SPDX-License-Identifier: Apache-2.0
// An allocator of static functions: its compiler knows all callers, and may leave out what none of them needs, such as the check
// for sizes that have no slot.  Whoever else calls it with 300,000 bytes gets a slot of the size that comes by chance.
// `static_allocator ROUNDS` prints sums; a block that was damaged ends it.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 1000, kMaxBytes = 256, kClasses = 5 };
static char g_pool[1 << 22];
static size_t g_used;
static char* g_free[kClasses];
static const unsigned char g_class_of[kMaxBytes / 16 + 1] = {0, 0, 1, 2, 2, 3, 3, 3, 3,
                                                             4, 4, 4, 4, 4, 4, 4, 4};

static __attribute__((noinline)) void* rpmalloc(size_t bytes) {
  if (bytes > kMaxBytes) {
    return malloc(bytes);
  }
  const unsigned k = g_class_of[(bytes + 15) / 16];
  char* block = g_free[k];
  if (block != NULL) {
    memcpy(&g_free[k], block, sizeof(block));
    return block;
  }
  block = g_pool + g_used;
  g_used += (size_t)32 << k;
  *block = (char)k;
  return block + 16;
}

static __attribute__((noinline)) void rpfree(void* block) {
  const unsigned k = (unsigned)((char*)block)[-16];
  memcpy(block, &g_free[k], sizeof(void*));
  g_free[k] = block;
}

static size_t size_of(int i) {
  return 8 + (size_t)(i % 60) * 4;
}

int main(int count, char** arguments) {
  static char* volatile blocks[kBlocks];
  const int rounds = count > 1 ? atoi(arguments[1]) : 1;
  unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      blocks[i] = rpmalloc(size_of(i));
      memset(blocks[i], i & 63, size_of(i));
      a += b ^ c, b += c ^ d, c += d ^ e, d += e ^ f, e += f ^ g, f += g ^ a, g += a ^ b;
    }
    for (int i = 0; i < kBlocks; ++i) {
      for (size_t k = 0; k < size_of(i); ++k) {
        if (blocks[i][k] != (i & 63)) {
          abort();
        }
      }
      rpfree(blocks[i]);
      a += b, b += c, c += d, d += e, e += f, f += g, g += a;
    }
  }
  printf("%lu\n", a + b + c + d + e + f + g);
  return 0;
}
