// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/slow_paths.h"

#include <cerrno>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/engine/reported.h"
#include "core/hooks/hook.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/linux/inline_hooks/verification.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

__thread const InnerHeap* t_trying __attribute__((tls_model("initial-exec"))) = nullptr;
__thread uint32_t t_calls_while_trying __attribute__((tls_model("initial-exec"))) = 0;

struct Arguments {
  uint64_t values[kMaxAllocatorArguments];
  uint64_t operator[](uint8_t i) const { return values[i]; }
};

uint64_t call(const HookSite& site, const Arguments& a) {
  return site.call()(a[0], a[1], a[2], a[3], a[4]);
}

bool allocates(AllocatorCall call) {
  return call == AllocatorCall::kAllocate || call == AllocatorCall::kThrowingAllocate ||
         call == AllocatorCall::kAllocateInto;
}

// 0 and false: more than there can be, so that the call fails.
bool size_of(const AllocatorSignature& s, const Arguments& a, uint64_t* size) {
  *size = s.size != kNoArgument ? a[s.size] : 0;
  return s.size != kNoArgument &&
         (s.count == kNoArgument || !__builtin_mul_overflow(a[s.count], *size, size));
}

void* block_of(const AllocatorSignature& s, const Arguments& a) {
  return reinterpret_cast<void*>(a[s.block]);
}

// What an allocating call gave; nullptr: it failed.
const void* given(const AllocatorSignature& s, const Arguments& a, uint64_t result) {
  if (s.call != AllocatorCall::kAllocateInto) {
    return reinterpret_cast<const void*>(result);
  }
  return static_cast<uint32_t>(result) == 0 ? *reinterpret_cast<void**>(a[s.result]) : nullptr;
}

void look_at_counts(InnerHeap* heap) {
  if (heap->counts.interface != counts::Interface::kNone) {
    counts::ask_when_due(&heap->counts, monotonic_ns());
  }
}

void record(const HookSite& site, const void* block, uint64_t size, const void* frame) {
  const int saved_errno = errno;
  reported::allocated(block, size, site.heap->id, {frame});
  look_at_counts(site.heap);
  errno = saved_errno;
}

// An exception may pass through the caller: the clock is set before the call.  Whether its block is a sample.
SamplingEvent begin_throwing(uint64_t size, bool ran_out) {
  SamplingEvent event{};
  if (ran_out) {
    event = sampler_event(size);
    sampler_resume(event);
  }
  return event;
}

void end_throwing(const HookSite& site, const SamplingEvent& event, bool ran_out, const void* block,
                  uint64_t size, const void* frame) {
  if (!ran_out) {
    return;
  }
  const int saved_errno = errno;
  const bool recorded =
      event.sampled && block != nullptr &&
      profiler::record_allocation(reported::key(block), size, event.rate_bytes, {frame}, site.heap->id);
  profiler::count_cold_path(recorded, 0);
  errno = saved_errno;
}

uint64_t begin_reallocation(const void* block) {
  const int saved_errno = errno;
  const uint64_t token = reported::begin_reallocation(block);
  errno = saved_errno;
  return token;
}

void end_reallocation(const HookSite& site, uint64_t token, const void* old_block, const void* block,
                      uint64_t size, bool ran_out, const void* frame) {
  const int saved_errno = errno;
  reported::reallocated(token, old_block, block, size, site.heap->id, ran_out, {frame});
  errno = saved_errno;
}

[[gnu::always_inline]] inline uint64_t reallocate(const HookSite& site, const Arguments& a, uint64_t size,
                                                  bool ran_out, bool is_muted, const void* frame) {
  const void* old_block = block_of(site.signature, a);
  const uint64_t token = begin_reallocation(old_block);
  uint64_t result;
  if (is_muted) {
    const MuteScope mute;
    result = call(site, a);
  } else {
    result = call(site, a);
  }
  end_reallocation(site, token, old_block, reinterpret_cast<void*>(result), size, ran_out, frame);
  return result;
}

[[gnu::always_inline]] inline uint64_t reallocate_or_throw(const HookSite& site, const Arguments& a,
                                                           uint64_t size, const void* frame) {
  const bool ran_out = sampler_tick(size);
  const void* old_block = block_of(site.signature, a);
  const uint64_t token = begin_reallocation(old_block);
  const SamplingEvent event = begin_throwing(size, ran_out);
  const uint64_t result = call(site, a);
  const void* block = reinterpret_cast<void*>(result);
  end_reallocation(site, token, old_block, block, size, false, frame);
  end_throwing(site, event, ran_out, block, size, frame);
  return result;
}

[[gnu::always_inline]] inline uint64_t resize(const HookSite& site, const Arguments& a, uint64_t size,
                                              const void* frame) {
  const void* block = block_of(site.signature, a);
  const bool ran_out = sampler_tick(size);
  const uint64_t token = begin_reallocation(block);
  const uint64_t result = call(site, a);
  if (result >= size) {
    end_reallocation(site, token, block, block, size, ran_out, frame);
  } else if (ran_out) {
    record(site, nullptr, size, frame);
  }
  return result;
}

// What mimalloc tells of a part of a heap begins so.
struct HeapArea {
  const void* blocks;
  size_t reserved_bytes;
};
bool forget_area(const void*, const HeapArea* area, void*, size_t, void*) {
  reported::freed_range(area->blocks, area->reserved_bytes);
  return true;
}

void forget_heap(const HookSite& site, uint64_t heap) {
  using Visit = bool (*)(uint64_t, bool, bool (*)(const void*, const HeapArea*, void*, size_t, void*), void*);
  if (site.heap->visit_heap != 0) {
    const int saved_errno = errno;
    reinterpret_cast<Visit>(site.heap->visit_heap)(heap, false, forget_area, nullptr);
    errno = saved_errno;
  }
}

void forget_block(const HookSite& site, const Arguments& a) {
  const void* block = block_of(site.signature, a);
  if (g_sampled_filter.may_be(block)) {
    const int saved_errno = errno;
    reported::freed(block);
    look_at_counts(site.heap);
    errno = saved_errno;
  }
}

// The clock ran out, or the filter marks the block.
[[gnu::always_inline]] inline uint64_t slow(const HookSite& site, const Arguments& a, bool ran_out,
                                            const void* frame) {
  const AllocatorSignature& s = site.signature;
  if (s.call == AllocatorCall::kFree) {
    forget_block(site, a);
    return call(site, a);
  }
  uint64_t size = 0;
  if (!size_of(s, a, &size)) {
    size = UINT64_MAX;  // as the clock was told
  }
  if (s.call == AllocatorCall::kReallocate) {
    return reallocate(site, a, size, ran_out, false, frame);
  }
  if (s.call == AllocatorCall::kThrowingAllocate) {
    const SamplingEvent event = begin_throwing(size, true);
    const uint64_t result = call(site, a);
    end_throwing(site, event, true, reinterpret_cast<void*>(result), size, frame);
    return result;
  }
  const uint64_t result = call(site, a);
  record(site, given(s, a, result), size, frame);
  return result;
}

// An operator that may come to another hook, which then has seen the block.
[[gnu::always_inline]] inline uint64_t allocate_or_throw(const HookSite& site, const Arguments& a,
                                                         uint64_t size, const void* frame) {
  const uint64_t count = t_sampler.count;
  const uint64_t drawn = t_sampler.random[0];
  const uint64_t result = call(site, a);
  if (t_sampler.count == count && t_sampler.random[0] == drawn && sampler_tick(size)) {
    record(site, reinterpret_cast<void*>(result), size, frame);
  }
  return result;
}

[[gnu::always_inline]] inline uint64_t always(const HookSite& site, const Arguments& a, const void* frame) {
  const AllocatorSignature& s = site.signature;
  if (s.call == AllocatorCall::kFree) {
    forget_block(site, a);
    return call(site, a);
  }
  if (s.call == AllocatorCall::kDestroyHeap) {
    forget_heap(site, a[s.heap]);
    return call(site, a);
  }
  uint64_t size = 0;
  if (!size_of(s, a, &size)) {
    return call(site, a);
  }
  switch (s.call) {
    case AllocatorCall::kThrowingReallocate:
      return reallocate_or_throw(site, a, size, frame);
    case AllocatorCall::kThrowingAllocate:
      return allocate_or_throw(site, a, size, frame);
    case AllocatorCall::kResizeInPlace:
      return resize(site, a, size, frame);
    case AllocatorCall::kReallocate:
      return reallocate(site, a, size, sampler_tick(size), true, frame);
    default:
      break;
  }
  const bool ran_out = sampler_tick(size);
  uint64_t result;
  {
    const MuteScope mute;
    result = call(site, a);
  }
  if (ran_out) {
    record(site, given(s, a, result), size, frame);
  }
  return result;
}

// The first calls.  One of them finds out what the functions are; what it allocated itself is counted then.
[[gnu::always_inline]] inline uint64_t first(HookSite* site, const Arguments& a, const void* frame) {
  InnerHeap* heap = site->heap;
  const AllocatorSignature& s = site->signature;
  const InnerState state = heap->state.load(std::memory_order_acquire);
  if (state == InnerState::kSeen) {
    return always(*site, a, frame);
  }
  if (t_trying != nullptr && s.size != kNoArgument && s.call != AllocatorCall::kFree) {
    ++t_calls_while_trying;
  }
  uint64_t size = 0;
  // What is asked of the system while it is tried could end a process that has a filter of system calls.
  if (state != InnerState::kUntried || !allocates(s.call) || !size_of(s, a, &size) || is_sandboxed()) {
    return call(*site, a);
  }
  const uint64_t result = call(*site, a);  // may throw
  const void* block = given(s, a, result);
  const int saved_errno = errno;
  const bool is_seen_now = block != nullptr && try_allocator(site, block, size);
  errno = saved_errno;
  if (is_seen_now && site->target.load(std::memory_order_relaxed) != site->original && sampler_tick(size)) {
    record(*site, block, size, frame);
  }
  return result;
}

HookSite* site_of(uint64_t tagged) {
  return reinterpret_cast<HookSite*>(tagged & ~kRanOut);
}

}  // namespace

uint32_t calls_while_trying() {
  return t_calls_while_trying;
}

void set_trying(const InnerHeap* heap) {
  t_trying = heap;
}

}  // namespace memprof::platform

using memprof::platform::site_of;

MEMPROF_SLOW_PATH uint64_t memprof_inner_slow(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                              uint64_t site) {
  return memprof::platform::slow(*site_of(site), {{a, b, c, d, e}}, (site & memprof::platform::kRanOut) != 0,
                                 __builtin_frame_address(0));
}

MEMPROF_SLOW_PATH uint64_t memprof_inner_always(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                                uint64_t site) {
  return memprof::platform::always(*site_of(site), {{a, b, c, d, e}}, __builtin_frame_address(0));
}

MEMPROF_SLOW_PATH uint64_t memprof_inner_first(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                               uint64_t site) {
  return memprof::platform::first(site_of(site), {{a, b, c, d, e}}, __builtin_frame_address(0));
}

memprof::platform::SlowPaths memprof::platform::slow_paths() {
  return {reinterpret_cast<uint64_t>(memprof_inner_first), reinterpret_cast<uint64_t>(memprof_inner_slow),
          reinterpret_cast<uint64_t>(memprof_inner_always)};
}
