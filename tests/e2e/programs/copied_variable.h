// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

extern void* (*variable_malloc)(size_t);
extern void (*variable_free)(void*);

void* library_allocate(size_t size);
void library_free(void* block);
