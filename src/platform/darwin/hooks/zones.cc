// SPDX-License-Identifier: Apache-2.0
#include "platform/darwin/hooks/zones.h"

#include <string.h>

#include "core/engine/profiler.h"
#include "core/tables/heap_names.h"
#include "platform/darwin/system.h"

namespace memprof::platform {
namespace {

// libmalloc's own, which malloc takes its blocks from (malloc.c, nanov2_malloc.c, pgm_malloc.c).
constexpr const char* kMallocs[] = {"DefaultMallocZone", "MallocHelperZone", "DefaultPurgeableMallocZone",
                                    "ProbGuardMallocZone"};

}  // namespace

uint32_t heap_of_zone(uint64_t zone) {
  const char* name = zone != 0 ? malloc_get_zone_name(reinterpret_cast<_malloc_zone_t*>(zone)) : nullptr;
  if (name == nullptr || *name == '\0') {
    return HeapNames::kUnnamed;
  }
  for (const char* known : kMallocs) {
    if (strcmp(name, known) == 0) {
      return HeapNames::kUnnamed;
    }
  }
  return profiler::register_heap(name, static_cast<uint32_t>(strnlen(name, HeapNames::kMaxNameBytes)));
}

}  // namespace memprof::platform
