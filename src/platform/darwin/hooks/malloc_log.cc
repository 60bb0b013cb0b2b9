// SPDX-License-Identifier: Apache-2.0
#include "platform/darwin/hooks/malloc_log.h"

#include <errno.h>

#include <atomic>

#include "core/hooks/hook.h"
#include "core/hooks/sampled_call.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/darwin/hooks/zones.h"
#include "platform/darwin/modules/image_list.h"
#include "platform/darwin/process/thread_data.h"
#include "platform/darwin/system.h"

namespace {

constexpr uint32_t kAllocated = 2;
constexpr uint32_t kFreed = 4;
constexpr uint32_t kHasZone = 8;
constexpr uint32_t kCleared = 64;

// Who was there before; written before the logger is set.
malloc_logger_t* g_next = nullptr;

}  // namespace

MEMPROF_SLOW_PATH void memprof_slow_log_allocated(uintptr_t block, size_t size, uintptr_t zone) {
  const int saved_errno = errno;
  const memprof::SamplingEvent event = memprof::sampler_event(size);
  memprof::budget::Meter meter(event.begun_ns);
  bool is_recorded = false;
  if (event.sampled) {
    is_recorded = memprof::profiler::record_allocation(reinterpret_cast<void*>(block), size, event.rate_bytes,
                                                       {__builtin_frame_address(0)},
                                                       memprof::platform::heap_of_zone(zone));
  }
  memprof::profiler::count_cold_path(is_recorded, event.muted_bytes());
  if (meter.is_on()) {
    memprof::profiler::note_cost(&meter);
  }
  memprof::sampler_resume(event);
  errno = saved_errno;
}

MEMPROF_SLOW_PATH void memprof_slow_log_freed(uintptr_t block) {
  memprof::record_marked_free(reinterpret_cast<void*>(block));
}

// The real realloc has returned, and nobody has seen the old block before.
MEMPROF_SLOW_PATH void memprof_slow_log_moved(uintptr_t block) {
  const int saved_errno = errno;
  const auto* old_block = reinterpret_cast<const void*>(block);
  memprof::profiler::commit_realloc(old_block, memprof::profiler::begin_realloc(old_block));
  errno = saved_errno;
}

namespace {

[[gnu::always_inline]] inline void note_allocated(uintptr_t block, size_t size, uintptr_t zone) {
  if (block != 0 && __builtin_expect(memprof::sampler_tick(size), 0)) {
    memprof_slow_log_allocated(block, size, zone);
  }
}

[[gnu::always_inline]] inline bool may_be_sampled(uintptr_t block) {
  return __builtin_expect(memprof::g_sampled_filter.may_contain(reinterpret_cast<void*>(block)), 0);
}

[[gnu::noinline]] MEMPROF_HOOK void log_moved(uintptr_t zone, uintptr_t old_block, uintptr_t size,
                                              uintptr_t block) {
  const bool is_seen = memprof::platform::t_moved_block == reinterpret_cast<const void*>(old_block);
  if (block != 0 && old_block != 0 && !is_seen && may_be_sampled(old_block)) {
    memprof_slow_log_moved(old_block);
  }
  note_allocated(block, size, zone);
}

// What is rare, in the order of the arguments without a zone too.
[[gnu::noinline]] MEMPROF_HOOK void log_other(uint32_t type, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3,
                                              uintptr_t result) {
  const bool has_zone = (type & kHasZone) != 0;
  const uintptr_t zone = has_zone ? arg1 : 0;
  const uintptr_t first = has_zone ? arg2 : arg1;
  const uintptr_t second = has_zone ? arg3 : arg2;
  switch (type & (kAllocated | kFreed)) {
    case kAllocated:
      note_allocated(result, first, zone);
      break;
    case kFreed:
      if (may_be_sampled(first)) {
        memprof_slow_log_freed(first);
      }
      break;
    case kAllocated | kFreed:
      log_moved(zone, first, second, result);
      break;
    default:  // of mappings, which other loggers are told of
      break;
  }
}

// Apart, so that a free saves no registers; with the arguments where they are.
[[gnu::noinline]] MEMPROF_HOOK void log_allocated(uint32_t, uintptr_t zone, uintptr_t size, uintptr_t,
                                                  uintptr_t block) {
  note_allocated(block, size, zone);
}

MEMPROF_HOOK void log_call(uint32_t type, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3, uintptr_t result,
                           uint32_t /*skipped_frames*/) {
  if ((type & ~kCleared) == (kAllocated | kHasZone)) {
    log_allocated(type, arg1, arg2, arg3, result);
  } else if (type == (kFreed | kHasZone)) {
    if (may_be_sampled(arg2)) {
      memprof_slow_log_freed(arg2);
    }
  } else {
    log_other(type, arg1, arg2, arg3, result);
  }
}

// Where another one was there before.
MEMPROF_HOOK void log_and_pass_on(uint32_t type, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3,
                                  uintptr_t result, uint32_t skipped_frames) {
  log_call(type, arg1, arg2, arg3, result, skipped_frames);
  g_next(type, arg1, arg2, arg3, result, skipped_frames);
}

std::atomic<bool> g_is_set{false};  // relaxed

}  // namespace

namespace memprof::platform {

__thread const void* t_moved_block;

bool is_malloc_logger_set() {
  return g_is_set.load(std::memory_order_relaxed);
}

bool set_malloc_logger() {
  if (!has_own_thread_data()) {
    return false;
  }
  if (!g_is_set.exchange(true)) {
    follow_images();
    g_next = malloc_logger;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    malloc_logger = g_next != nullptr ? log_and_pass_on : log_call;
  }
  return true;
}

}  // namespace memprof::platform
