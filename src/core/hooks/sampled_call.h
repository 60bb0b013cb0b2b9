// SPDX-License-Identifier: Apache-2.0
// What the slow paths of all hooks do around the real call (the interposer's of malloc, those of a runtime's
// allocators).
//
// Threads, signals: as core/engine/recorder.h.  errno: the real call finds it as the program left it, and the
// program as the real call left it.
#pragma once

#include <cerrno>

#include "core/engine/recorder.h"
#include "core/engine/runtimes.h"
#include "core/hooks/hook.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"

namespace memprof {

// A clock ran out at an allocation of `size` bytes: makes it by `allocate()` and records it if it is a
// sample.  `errno_before`: as the program left it.  `is_all`: what malloc's hooks see meanwhile is of this
// allocation, and is missing nowhere.  may_record(): after it, will the free of the block be seen?
struct AlwaysRecord {
  bool operator()() const { return true; }
};
template <typename Allocate, typename MayRecord = AlwaysRecord>
[[gnu::always_inline]] inline void* sampled_call(const SamplingEvent& event, int errno_before, size_t size,
                                                 const void* frame, const Allocate& allocate,
                                                 bool is_all = false, const MayRecord& may_record = {}) {
  budget::Meter meter(event.begun_ns);
  runtimes::look_in_event();
  profiler::Pending pending;
  pending.recording = false;
  if (event.sampled && profiler::begin_allocation({frame}, &pending)) {
    pending.kept = static_cast<uint64_t*>(__builtin_alloca(profiler::Pending::kMaxKept * sizeof(uint64_t)));
    profiler::find_stack({frame}, &pending);
  }
  meter.pause();
  errno = errno_before;
  void* block = allocate();
  const int errno_after = errno;
  meter.resume();
  const bool recorded = pending.recording && block != nullptr && may_record();
  if (recorded) {
    profiler::end_allocation(&pending, block, size, event.rate_bytes, {frame});
  }
  profiler::count_cold_path(recorded, is_all ? 0 : event.muted_bytes());
  if (__builtin_expect(meter.is_on(), 0)) {
    profiler::note_cost(&meter);
  }
  sampler_resume(event);
  runtimes::after_event();
  errno = errno_after;
  return block;
}

// Before a block that the filter marks is freed.
[[gnu::always_inline]] inline void record_marked_free(const void* block) {
  if (g_sampled_filter.may_be(block)) {
    const int saved_errno = errno;
    profiler::record_free(block);
    errno = saved_errno;
  }
}

// The real realloc, with what is known of the old block: a failed call leaves it as it was.  `frees_it`: a
// nullptr is no failure, the block is gone.
template <typename Reallocate>
[[gnu::always_inline]] inline void* recorded_realloc(void* block, bool frees_it,
                                                     const Reallocate& reallocate) {
  const int errno_before = errno;
  const HeapMap::Token token = profiler::begin_realloc(block);
  errno = errno_before;
  void* moved = reallocate();
  if (token && (moved != nullptr || frees_it)) {
    const int errno_after = errno;
    profiler::commit_realloc(block, token);
    errno = errno_after;
  } else if (token) {
    profiler::cancel_realloc(token);
  }
  return moved;
}

}  // namespace memprof
