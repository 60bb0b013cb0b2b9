// SPDX-License-Identifier: Apache-2.0
// Built with -fno-asynchronous-unwind-tables, with frame pointers and without: below such code a stack has
// what can be known, and nothing else.
#include "truth.h"

enum { kRounds = 200, kDepth = 5 };

SITE void* bare_leaf(size_t size) {
  return keep(malloc(opaque(size)));
}

SITE void bare_middle(int depth) {
  volatile char frame[100];
  frame[0] = (char)depth;
  if (depth > 0) {
    bare_middle(depth - 1);
  } else {
    free(bare_leaf(401));
  }
  frame[1] = frame[0];
}

int main(void) {
  for (int i = 0; i < kRounds; ++i) bare_middle(kDepth);
  tell("bare_leaf", "-", kRounds, kRounds * 401, 0, 0);
  return 0;
}
