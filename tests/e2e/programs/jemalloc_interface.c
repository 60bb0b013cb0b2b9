// SPDX-License-Identifier: Apache-2.0
// A program whose malloc is a shared jemalloc, and that calls jemalloc's own interface beside it: blocks of one go by functions
// of the other.
#include "truth.h"

void* mallocx(size_t size, int flags);
void* rallocx(void* block, size_t size, int flags);
void dallocx(void* block, int flags);
void sdallocx(void* block, size_t size, int flags);

enum { kBlocks = 300, kGrown = 50, kLarge = 5000 };

SITE void* gives_some(size_t size) {
  return keep(mallocx(opaque(size), 0));
}
SITE void* gives_plain(size_t size) {
  return keep(malloc(opaque(size)));
}
SITE void* to_grow(size_t size) {
  return keep(mallocx(opaque(size), 0));
}
SITE void* gives_more(void* block, size_t size) {
  return keep(rallocx(block, opaque(size), 0));
}

int main(void) {
  static void* blocks[3 * kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = gives_some(100);
  for (int i = 0; i < kBlocks; ++i) blocks[kBlocks + i] = gives_plain(200);
  for (int i = 0; i < kGrown; ++i) {
    char* block = to_grow(64);
    memset(block, i, 64);
    block = gives_more(block, kLarge);
    if (block[63] != i) die("rallocx lost what was there");
    blocks[2 * kBlocks + i] = block;
  }
  for (int i = 0; i < 100; ++i) {
    free(blocks[i]);
    sdallocx(blocks[100 + i], 100, 0);
    dallocx(blocks[kBlocks + i], 0);
    free(blocks[kBlocks + 100 + i]);
  }
  tell("gives_some", "-", kBlocks, 100 * kBlocks, 100, 100 * 100);
  tell("gives_plain", "-", kBlocks, 200 * kBlocks, 100, 100 * 200);
  tell("to_grow", "-", kGrown, 64 * kGrown, 0, 0);
  tell("gives_more", "-", kGrown, kLarge * kGrown, kGrown, kLarge * kGrown);
  return 0;
}
