// SPDX-License-Identifier: Apache-2.0
// A small library to load and unload; PLUGIN_SITE is the name of its allocating function. Built twice, alike
// but for that name, so that one can take the other's place in memory.
#include "truth.h"

SITE void* PLUGIN_SITE(size_t size) {
  return keep(malloc(size));
}

__attribute__((visibility("default"))) void* plugin_allocate(size_t size) {
  return keep(PLUGIN_SITE(size));
}

__attribute__((constructor)) static void construct(void) {
  free(PLUGIN_SITE(opaque(64)));
}
