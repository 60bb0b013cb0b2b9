// SPDX-License-Identifier: Apache-2.0
// In front of libmalloc's functions: realloc, whose old block is named before it is freed (hooks/malloc_log.h), and the end of a
// zone, which frees its blocks without telling a logger.
//
// dyld puts the functions of this section in the place of the real ones for all other images, where the library was inserted or
// linked to, and not where it came by dlopen.  Of the functions of libmalloc that take a type (malloc_type_realloc and kin) none
// is here on purpose: as long as only those without a type are, libmalloc's typed ones call the untyped (libmalloc 792.1.1,
// malloc_type.c, _malloc_detect_interposition and _malloc_type_realloc_outlined).
#include <errno.h>
#include <stdlib.h>

#include "core/engine/live_samples.h"
#include "core/hooks/sampled_call.h"
#include "core/sampling/sampled_filter.h"
#include "platform/darwin/hooks/malloc_log.h"
#include "platform/darwin/system.h"

namespace {

template <typename Reallocate>
[[gnu::always_inline]] inline void* see_realloc(void* block, const Reallocate& reallocate) {
  using memprof::platform::t_moved_block;
  if (block == nullptr || !memprof::platform::is_malloc_logger_set()) {
    return reallocate();
  }
  const void* const outer = t_moved_block;  // of a function that a signal handler interrupted
  t_moved_block = block;
  void* moved = memprof::g_sampled_filter.may_contain(block)
                    ? memprof::recorded_realloc(block, false, reallocate)
                    : reallocate();
  t_moved_block = outer;
  return moved;
}

MEMPROF_HOOK void* memprof_realloc(void* block, size_t size) {
  return see_realloc(block, [=] { return realloc(block, size); });
}

MEMPROF_HOOK void* memprof_malloc_zone_realloc(_malloc_zone_t* zone, void* block, size_t size) {
  return see_realloc(block, [=] { return malloc_zone_realloc(zone, block, size); });
}

bool is_in_zone(uint64_t address, const void* zone) {
  return malloc_zone_from_ptr(reinterpret_cast<const void*>(address)) == zone;
}

MEMPROF_HOOK void memprof_malloc_destroy_zone(_malloc_zone_t* zone) {
  if (zone != nullptr && memprof::platform::is_malloc_logger_set()) {
    const int saved_errno = errno;
    memprof::profiler::record_free_where(is_in_zone, zone);
    errno = saved_errno;
  }
  malloc_destroy_zone(zone);
}

struct Interposed {
  const void* replacement;
  const void* replaced;
};

__attribute__((used, section("__DATA,__interpose"))) const Interposed g_interposed[] = {
    {reinterpret_cast<const void*>(memprof_realloc), reinterpret_cast<const void*>(realloc)},
    {reinterpret_cast<const void*>(memprof_malloc_zone_realloc),
     reinterpret_cast<const void*>(malloc_zone_realloc)},
    {reinterpret_cast<const void*>(memprof_malloc_destroy_zone),
     reinterpret_cast<const void*>(malloc_destroy_zone)},
};

}  // namespace
