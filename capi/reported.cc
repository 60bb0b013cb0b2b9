// SPDX-License-Identifier: Apache-2.0
// The part of the public C API that allocators call (include/memprof.h, "Allocators of one's own").
//
// As with the hooks of malloc, each function has a fast path, and a slow path in a function of its own that
// it jumps to, so that in both the allocator's return address is the first on the stack.
//
// Signals: like malloc's hooks.  errno: kept.
#include <cerrno>
#include <cstring>

#include "core/engine/profiler.h"
#include "core/engine/reported.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/tables/heap_names.h"
#include "dump/dump.h"
#include "memprof.h"

// Reached by a jump; its frame is the entry of the stack.
#define MEMPROF_SLOW_PATH extern "C" __attribute__((noinline, cold, visibility("hidden")))

using memprof::g_sampled_filter;
using memprof::sampler_tick;
namespace reported = memprof::reported;

static_assert(MEMPROF_MAX_HEAPS == memprof::HeapNames::kMaxHeaps);
static_assert(MEMPROF_MAX_HEAP_NAME_BYTES == memprof::HeapNames::kMaxNameBytes);
static_assert(MEMPROF_ABI1_GRANULE_BITS == memprof::SampledFilter::kGranuleBits);
static_assert((uint64_t{1} << (32 - MEMPROF_ABI1_GRANULE_BITS)) == memprof::SampledFilter::kSlots);

MEMPROF_SLOW_PATH void memprof_slow_report_alloc(const void* block, size_t size_bytes, memprof_heap_id heap) {
  const int saved_errno = errno;
  reported::allocated(block, size_bytes, heap, {__builtin_frame_address(0)});
  errno = saved_errno;
}

MEMPROF_SLOW_PATH void memprof_slow_report_free(const void* block) {
  const int saved_errno = errno;
  reported::freed(block);
  errno = saved_errno;
}

MEMPROF_SLOW_PATH void memprof_slow_report_realloc(const void* old_block, const void* block,
                                                   size_t size_bytes, memprof_heap_id heap, bool ran_out) {
  const int saved_errno = errno;
  reported::reallocated(reported::begin_reallocation(old_block), old_block, block, size_bytes, heap, ran_out,
                        {__builtin_frame_address(0)});
  errno = saved_errno;
}

MEMPROF_SLOW_PATH uint64_t memprof_slow_report_realloc_begin(const void* old_block) {
  const int saved_errno = errno;
  const uint64_t token = reported::begin_reallocation(old_block);
  errno = saved_errno;
  return token;
}

MEMPROF_SLOW_PATH void memprof_slow_report_realloc_end(uint64_t token, const void* old_block,
                                                       const void* block, size_t size_bytes,
                                                       memprof_heap_id heap, bool ran_out) {
  const int saved_errno = errno;
  reported::reallocated(token, old_block, block, size_bytes, heap, ran_out, {__builtin_frame_address(0)});
  errno = saved_errno;
}

MEMPROF_SLOW_PATH void memprof_slow_report_backing(const void* chunk) {
  const int saved_errno = errno;
  reported::backing(chunk);
  errno = saved_errno;
}

MEMPROF_SLOW_PATH void memprof_slow_report_free_range(const void* start, size_t size_bytes) {
  const int saved_errno = errno;
  reported::freed_range(start, size_bytes);
  errno = saved_errno;
}

extern "C" {

// memprof_abi1_count is the symbol of the sampler's state, whose first member is the count (core/sampling/sampler.h).
extern const void* const memprof_abi1_filter;  // where memprof.h declares it for other compilers only
const void* const memprof_abi1_filter = &g_sampled_filter;

uint64_t* memprof_abi1_thread_count() {
  return &memprof::t_sampler.count;
}

void memprof_abi1_alloc(const void* block, size_t size_bytes, memprof_heap_id heap) {
  return memprof_slow_report_alloc(block, size_bytes, heap);
}

void memprof_abi1_free(const void* block) {
  return memprof_slow_report_free(block);
}

void memprof_abi1_realloc(const void* old_block, const void* block, size_t size_bytes, memprof_heap_id heap,
                          int ran_out) {
  return memprof_slow_report_realloc(old_block, block, size_bytes, heap, ran_out != 0);
}

void memprof_report_alloc(const void* block, size_t size_bytes, memprof_heap_id heap) {
  if (__builtin_expect(sampler_tick(size_bytes), 0)) {
    return memprof_slow_report_alloc(block, size_bytes, heap);
  }
}

void memprof_report_free(const void* block) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_report_free(block);
  }
}

void memprof_report_realloc(const void* old_block, const void* block, size_t size_bytes,
                            memprof_heap_id heap) {
  const bool ran_out = sampler_tick(size_bytes);
  if (__builtin_expect(ran_out || g_sampled_filter.may_contain(old_block), 0)) {
    return memprof_slow_report_realloc(old_block, block, size_bytes, heap, ran_out);
  }
}

uint64_t memprof_report_realloc_begin(const void* old_block) {
  return __builtin_expect(g_sampled_filter.may_contain(old_block), 0)
             ? memprof_slow_report_realloc_begin(old_block)
             : 0;
}

void memprof_report_realloc_end(uint64_t token, const void* old_block, const void* block, size_t size_bytes,
                                memprof_heap_id heap) {
  const bool ran_out = sampler_tick(size_bytes);
  if (__builtin_expect(ran_out || token != 0, 0)) {
    return memprof_slow_report_realloc_end(token, old_block, block, size_bytes, heap, ran_out);
  }
}

void memprof_report_free_range(const void* start, size_t size_bytes) {
  return memprof_slow_report_free_range(start, size_bytes);
}

void memprof_report_backing(const void* chunk) {
  if (__builtin_expect(g_sampled_filter.may_contain(chunk), 0)) {
    return memprof_slow_report_backing(chunk);
  }
}

void memprof_backing_begin(void) {
  memprof::sampler_mute();
}

void memprof_backing_end(void) {
  memprof::sampler_unmute();
}

int memprof_heap_register(const char* name, memprof_heap_id* heap) {
  if (heap == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  *heap = memprof::HeapNames::kUnnamed;
  if (name == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  const size_t size = strnlen(name, MEMPROF_MAX_HEAP_NAME_BYTES + 1);
  if (size == 0 || size > MEMPROF_MAX_HEAP_NAME_BYTES) {
    return MEMPROF_ERR_INVALID;
  }
  for (size_t i = 0; i < size; ++i) {
    const unsigned char c = static_cast<unsigned char>(name[i]);
    if (c < ' ' || c == 0x7f) {
      return MEMPROF_ERR_INVALID;
    }
  }
  const int saved_errno = errno;
  *heap = memprof::profiler::register_heap(name, static_cast<uint32_t>(size));
  errno = saved_errno;
  return *heap != memprof::HeapNames::kUnnamed ? MEMPROF_OK : MEMPROF_ERR_LIMIT;
}

}  // extern "C"
