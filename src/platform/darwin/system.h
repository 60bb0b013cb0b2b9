// SPDX-License-Identifier: Apache-2.0
// What of macOS's libSystem the library uses and not all headers of it declare.
#pragma once

#include <mach/mach.h>
#include <stddef.h>
#include <stdint.h>

struct _malloc_zone_t;

extern "C" {
// libmalloc calls it, where it is set: after an allocation, before a free, after a realloc (hooks/malloc_log.h).
using malloc_logger_t = void(uint32_t type, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3, uintptr_t result,
                             uint32_t skipped_frames);
extern malloc_logger_t* malloc_logger;

const char* malloc_get_zone_name(_malloc_zone_t* zone);
_malloc_zone_t* malloc_zone_from_ptr(const void* block);
void malloc_destroy_zone(_malloc_zone_t* zone);
void* malloc_zone_realloc(_malloc_zone_t* zone, void* block, size_t size);

kern_return_t mach_vm_read_overwrite(vm_map_t task, uint64_t address, uint64_t size, uint64_t copy,
                                     uint64_t* copied);
}

namespace memprof::platform {

inline uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

}  // namespace memprof::platform
