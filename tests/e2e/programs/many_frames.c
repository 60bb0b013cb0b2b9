// SPDX-License-Identifier: Apache-2.0
// Deep recursion: 1000 frames above the block.
#include "truth.h"

static void* g_block;

SITE void* deep_leaf(void) {
  return keep(malloc(opaque(8001)));
}

SITE int recurse(int depth) {
  if (depth == 0) {
    g_block = deep_leaf();
    return 0;
  }
  return recurse(depth - 1) + (int)opaque(1);
}

int main(void) {
  const int depth = recurse(999);
  tell("deep_leaf", "recurse<recurse", 1, 8001, 1, 8001);
  return depth != 999;
}
