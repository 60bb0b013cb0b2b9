// SPDX-License-Identifier: Apache-2.0
// malloc and its family, defined in front of the real ones.
//
// Each hook has a fast path that ends in a jump to the real function, and a slow path in a function of its
// own that the hook jumps to, so that in both the program's return address is the first on the stack.
//
// Threads, signals: as the functions they stand for.  errno: kept as the real function left it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/linux/interpose/bootstrap.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/interpose/sample.h"

using memprof::g_sampled_filter;
using memprof::sampler_tick;
using memprof::interpose::free_marked;
using memprof::interpose::g_front;
using memprof::interpose::g_real;
using memprof::interpose::is_bootstrap;
using memprof::interpose::sample;

MEMPROF_SLOW_PATH void* memprof_slow_malloc(size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.malloc(size); });
}

MEMPROF_DEFINE_HOOK(void*, malloc, (size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_malloc(size);
  }
  return g_real.malloc(size);
}

MEMPROF_SLOW_PATH void memprof_slow_free(void* block) {
  free_marked(block, [=] { g_real.free(block); });
}

MEMPROF_DEFINE_HOOK(void, free, (void* block)) {
  memprof::interpose::free_block(block);
}

// C23: the size and the alignment are what the program says of the block; a real function that checks them
// may.
MEMPROF_SLOW_PATH void memprof_slow_free_sized(void* block, size_t size) {
  free_marked(block, [=] { g_real.free_sized(block, size); });
}

MEMPROF_DEFINE_HOOK(void, free_sized, (void* block, size_t size)) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_free_sized(block, size);
  }
  return g_real.free_sized(block, size);
}

MEMPROF_SLOW_PATH void memprof_slow_free_aligned_sized(void* block, size_t alignment, size_t size) {
  free_marked(block, [=] { g_real.free_aligned_sized(block, alignment, size); });
}

MEMPROF_DEFINE_HOOK(void, free_aligned_sized, (void* block, size_t alignment, size_t size)) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_free_aligned_sized(block, alignment, size);
  }
  return g_real.free_aligned_sized(block, alignment, size);
}

MEMPROF_SLOW_PATH void* memprof_slow_calloc(size_t count, size_t size) {
  return sample(count * size, __builtin_frame_address(0), [=] { return g_real.calloc(count, size); });
}

MEMPROF_DEFINE_HOOK(void*, calloc, (size_t count, size_t size)) {
  size_t bytes;
  // An overflow fails in the real function, and is no allocation.
  if (__builtin_expect(!__builtin_mul_overflow(count, size, &bytes) && sampler_tick(bytes), 0)) {
    return memprof_slow_calloc(count, size);
  }
  return g_real.calloc(count, size);
}

namespace {

// A block from before the real functions were known moves to the real allocator.
void* leave_bootstrap(void* block, size_t size) {
  void* moved = g_real.malloc(size);
  if (moved != nullptr) {
    const size_t old = memprof::interpose::bootstrap_size(block);
    memcpy(moved, block, old < size ? old : size);
  }
  return moved;
}

}  // namespace

MEMPROF_SLOW_PATH void* memprof_slow_realloc(void* block, size_t size, bool ran_out) {
  const auto reallocate = [=]() -> void* {
    if (is_bootstrap(block)) {
      return leave_bootstrap(block, size);
    }
    // Size 0: freed, whatever it returns.
    return memprof::recorded_realloc(block, size == 0, [=] { return g_real.realloc(block, size); });
  };
  return ran_out ? sample(size, __builtin_frame_address(0), reallocate) : reallocate();
}

MEMPROF_DEFINE_HOOK(void*, realloc, (void* block, size_t size)) {
  const bool ran_out = sampler_tick(size);
  if (__builtin_expect(ran_out || g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_realloc(block, size, ran_out);
  }
  return g_real.realloc(block, size);
}

// libc's own calls realloc, so ours would see the block twice.
MEMPROF_DEFINE_HOOK(void*, reallocarray, (void* block, size_t count, size_t size)) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (__builtin_expect(g_front.realloc != nullptr, 0)) {
    return g_front.realloc(block, bytes);
  }
  const bool ran_out = sampler_tick(bytes);
  if (__builtin_expect(ran_out || g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_realloc(block, bytes, ran_out);
  }
  return g_real.realloc(block, bytes);
}

MEMPROF_SLOW_PATH int memprof_slow_posix_memalign(void** result, size_t alignment, size_t size) {
  int error = 0;
  sample(size, __builtin_frame_address(0), [=, &error]() -> void* {
    error = g_real.posix_memalign(result, alignment, size);
    return error == 0 ? *result : nullptr;
  });
  return error;
}

MEMPROF_DEFINE_HOOK(int, posix_memalign, (void** result, size_t alignment, size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_posix_memalign(result, alignment, size);
  }
  return g_real.posix_memalign(result, alignment, size);
}

MEMPROF_SLOW_PATH void* memprof_slow_aligned_alloc(size_t alignment, size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.aligned_alloc(alignment, size); });
}

MEMPROF_DEFINE_HOOK(void*, aligned_alloc, (size_t alignment, size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_aligned_alloc(alignment, size);
  }
  return g_real.aligned_alloc(alignment, size);
}

MEMPROF_SLOW_PATH void* memprof_slow_memalign(size_t alignment, size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.memalign(alignment, size); });
}

MEMPROF_DEFINE_HOOK(void*, memalign, (size_t alignment, size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_memalign(alignment, size);
  }
  return g_real.memalign(alignment, size);
}

MEMPROF_SLOW_PATH void* memprof_slow_valloc(size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.valloc(size); });
}

MEMPROF_DEFINE_HOOK(void*, valloc, (size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_valloc(size);
  }
  return g_real.valloc(size);
}

MEMPROF_SLOW_PATH void* memprof_slow_pvalloc(size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.pvalloc(size); });
}

MEMPROF_DEFINE_HOOK(void*, pvalloc, (size_t size)) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_pvalloc(size);
  }
  return g_real.pvalloc(size);
}

MEMPROF_DEFINE_HOOK(size_t, malloc_usable_size, (void* block)) {
  if (__builtin_expect(is_bootstrap(block), 0)) {
    return memprof::interpose::bootstrap_size(block);
  }
  return g_real.malloc_usable_size(block);
}
