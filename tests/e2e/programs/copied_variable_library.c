// SPDX-License-Identifier: Apache-2.0
// A library that allocates through variables, as libxml2 does.
#include "copied_variable.h"

#include <stdlib.h>

void* (*variable_malloc)(size_t) = malloc;
void (*variable_free)(void*) = free;

void* library_allocate(size_t size) {
  return variable_malloc(size);
}
void library_free(void* block) {
  variable_free(block);
}
