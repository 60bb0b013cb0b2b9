// SPDX-License-Identifier: Apache-2.0
// The C that a Rust program calls (calls_c.rs).
#include "truth.h"

SITE void* c_leaf(size_t size) {
  return keep(malloc(opaque(size)));
}

SITE void c_entry(size_t size) {
  free(c_leaf(size));
}

// And back: a C frame between those of Rust.
SITE void c_calls_back(void (*function)(void)) {
  function();
}
