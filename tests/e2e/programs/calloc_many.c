// SPDX-License-Identifier: Apache-2.0
// Many callocs of known size, of which none lives.
#include "truth.h"

SITE void* calling_calloc(void) {
  return keep(calloc(opaque(10), opaque(100)));
}

int main(void) {
  for (int i = 0; i < 200000; ++i) free(calling_calloc());
  printf("200000 1000\n");
  return 0;
}
