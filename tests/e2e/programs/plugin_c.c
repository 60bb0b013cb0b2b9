// SPDX-License-Identifier: Apache-2.0
// plugin.c with other functions in front, so that its addresses lie elsewhere in the same range.
#include "truth.h"

SITE int padding(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += i * (int)opaque(3) ^ x;
  return sum;
}

SITE void* plugin_c_site(size_t size) {
  return keep(malloc(size + (size_t)padding((int)opaque(0))));
}

__attribute__((visibility("default"))) void* plugin_allocate(size_t size) {
  return keep(plugin_c_site(size));
}

__attribute__((constructor)) static void construct(void) {
  free(plugin_c_site(opaque(64)));
}
