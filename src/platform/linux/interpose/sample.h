// SPDX-License-Identifier: Apache-2.0
// What all slow paths of the interposer do around the real call.
#pragma once

#include <errno.h>

#include "core/hooks/sampled_call.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/linux/interpose/bootstrap.h"
#include "platform/linux/interpose/real.h"

MEMPROF_SLOW_PATH void memprof_slow_free(void* block);

namespace memprof::interpose {

// free, and every operator delete that is free.
[[gnu::always_inline]] inline void free_block(void* block) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_free(block);
  }
  return g_real.free(block);
}

// Creates the owner mark, and starts the profiler where the environment asks for it.  true: this call did it,
// and the calling thread's clock is a new one.  `from_hook`: an allocation of the process brought us here, so
// it goes through us.
bool prepare_process(bool from_hook);

// sampler_event, for the first allocation of a process, too.
SamplingEvent begin_event(size_t size);

// A clock ran out at an allocation of `size` bytes: makes it by `allocate()` and records it if it is a
// sample.
template <typename Allocate>
[[gnu::always_inline]] inline void* sample(size_t size, const void* frame, const Allocate& allocate) {
  const int errno_before = errno;
  return sampled_call(begin_event(size), errno_before, size, frame, allocate);
}

// The filter marks the block: `release()` is the real free.
template <typename Release>
[[gnu::always_inline]] inline void free_marked(void* block, const Release& release) {
  if (is_bootstrap(block)) {
    return;
  }
  record_marked_free(block);
  return release();
}

}  // namespace memprof::interpose
