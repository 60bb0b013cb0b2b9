// SPDX-License-Identifier: Apache-2.0
// Deep recursion: 1000 frames above the block, or as many as the argument says.
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

int main(int argc, char** argv) {
  const int above = argc > 1 ? atoi(argv[1]) - 1 : 999;
  const int depth = recurse(above);
  tell("deep_leaf", "recurse<recurse", 1, 8001, 1, 8001);
  return depth != above;
}
