// SPDX-License-Identifier: Apache-2.0
// Zones of libmalloc: those that a program made are heaps of their own, by their names.
#pragma once

#include <cstdint>

namespace memprof::platform {

// The id of the heap (core/tables/heap_names.h) that blocks of this zone belong to; 0: malloc's own, or none that has a
// name.  May be called from a hook.
uint32_t heap_of_zone(uint64_t zone);

}  // namespace memprof::platform
